-- Replace the buffer by a state of the transcript. KEYS: the buffer.
-- ARGV: lifetime in ms, then the head and the messages, oldest first.
redis.call('DEL', KEYS[1])
for i = 2, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
