#!lua
-- Makes a batch of dead letters, for the destination that refused them; or only takes them away. All or nothing: where
-- one of them is gone, somebody else was faster, and nothing is done.
-- KEYS: dead, debt, owed, outbox, batch. ARGV: destination, batch id ('' = discard), number of batch fields, field,
-- value …, bytes owed, then the fields of the letters.
-- Returns the number of letters, or -1.
local fields = {}
local at = 3 + tonumber(ARGV[3]) * 2
for i = at + 2, #ARGV do fields[#fields + 1] = ARGV[i] end
for i = 1, #fields do
  if redis.call('HEXISTS', KEYS[1], fields[i]) == 0 then return -1 end
end
if ARGV[2] ~= '' then
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  redis.call('HSET', KEYS[5], 'at', now, unpack(ARGV, 4, at))
  redis.call('HINCRBY', KEYS[2], ARGV[1] .. '/bytes', ARGV[at + 1])
  redis.call('HINCRBY', KEYS[2], ARGV[1] .. '/batches', 1)
  redis.call('ZADD', KEYS[3], now, ARGV[2])
  redis.call('SADD', KEYS[4], ARGV[2])
end
for i = 1, #fields do redis.call('HDEL', KEYS[1], fields[i]) end
redis.call('HINCRBY', KEYS[2], ARGV[1] .. '/dead', -#fields)
return #fields
