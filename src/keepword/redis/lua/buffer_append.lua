-- Take the buffer from one version to the next, or leave it behind: then a reader rebuilds it.
-- KEYS: the buffer, a list whose first element is its head: the time of the newest message (27 characters), then the
-- version. One key, so that it can't be lost by halves.
-- ARGV: the conversation's id, its last sequence number before and after, the times of the oldest and the newest new
-- message, most messages, lifetime in ms, '1' if the conversation is the whole place, then the messages, oldest first.
local whole = ARGV[8] == '1'
local head = redis.call('LINDEX', KEYS[1], 0)
if not head and whole and ARGV[2] == '0' then head = string.rep(' ', 27) end
if not head then return 0 end
local newest, version = string.sub(head, 1, 27), string.sub(head, 28)
if version == '' and ARGV[2] == '0' then version = ';' .. ARGV[1] .. '=0;' end
local from, to = string.find(version, ';' .. ARGV[1] .. '=' .. ARGV[2] .. ';', 1, true)
if not from then return 0 end
-- told for an earlier time than what is there: only the transcript knows where it belongs
if newest > ARGV[4] or (newest == ARGV[4] and not whole) then
    redis.call('DEL', KEYS[1])
    return 0
end
redis.call('LPOP', KEYS[1])
for i = 9, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[6]), -1)
version = string.sub(version, 1, from) .. ARGV[1] .. '=' .. ARGV[3] .. string.sub(version, to)
redis.call('LPUSH', KEYS[1], ARGV[5] .. version)
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return 1
