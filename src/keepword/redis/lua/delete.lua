-- Delete those of the named fields that are there. KEYS: fields, ttl.
-- ARGV: the default lifetime in ms, then the names.
redis.call('HDEL', KEYS[1], unpack(ARGV, 2))
if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('DEL', KEYS[2])
else
    local ttl = redis.call('GET', KEYS[2])
    redis.call('PEXPIRE', KEYS[1], ttl or ARGV[1])
    if ttl then redis.call('PEXPIRE', KEYS[2], ttl) end
end
