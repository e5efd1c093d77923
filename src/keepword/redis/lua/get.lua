-- Read all fields and refresh the lifetime. KEYS: fields, ttl. ARGV: the default lifetime in ms.
local found = redis.call('HGETALL', KEYS[1])
if #found > 0 then
    local ttl = redis.call('GET', KEYS[2])
    redis.call('PEXPIRE', KEYS[1], ttl or ARGV[1])
    if ttl then redis.call('PEXPIRE', KEYS[2], ttl) end
end
return found
