-- Merge fields if the whole stays within the limits. KEYS: fields, ttl.
-- ARGV: the default lifetime in ms, the lifetime given in ms or '', most bytes, most fields, then name and value by turns.
-- Answers: stored, bytes, fields, bytes held where nothing was stored.
local given, bytes, count, held = {}, 0, 0, 0
for i = 5, #ARGV, 2 do
    given[ARGV[i]] = true
    bytes = bytes + #ARGV[i] + #ARGV[i + 1]
    count = count + 1
end
local found = redis.call('HGETALL', KEYS[1])
for i = 1, #found, 2 do
    local size = #found[i] + #found[i + 1]
    held = held + size
    if not given[found[i]] then
        bytes = bytes + size
        count = count + 1
    end
end
if bytes > tonumber(ARGV[3]) or count > tonumber(ARGV[4]) then return {0, bytes, count, held} end
if count == 0 then return {1, 0, 0, 0} end
if #ARGV > 4 then redis.call('HSET', KEYS[1], unpack(ARGV, 5)) end
if ARGV[2] ~= '' then
    redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[2])
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
    -- a lifetime that outlived its fields is not theirs
    if held == 0 then redis.call('DEL', KEYS[2]) end
    local ttl = redis.call('GET', KEYS[2])
    redis.call('PEXPIRE', KEYS[1], ttl or ARGV[1])
    if ttl then redis.call('PEXPIRE', KEYS[2], ttl) end
end
return {1, bytes, count, 0}
