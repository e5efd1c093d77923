-- Delete all of the named fields, or none and answer the missing ones. KEYS: fields, ttl.
-- ARGV: the default lifetime in ms, then the names.
local missing = {}
for i = 2, #ARGV do
    if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0 then missing[#missing + 1] = ARGV[i] end
end
if #missing > 0 then return missing end
for i = 2, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('DEL', KEYS[2])
else
    local ttl = redis.call('GET', KEYS[2])
    redis.call('PEXPIRE', KEYS[1], ttl or ARGV[1])
    if ttl then redis.call('PEXPIRE', KEYS[2], ttl) end
end
return missing
