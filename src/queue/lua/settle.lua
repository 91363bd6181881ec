#!lua flags=allow-oom
-- Records what a destination has confirmed of a batch, and what it never can. It makes room, so it runs
-- also when Redis is full.
-- KEYS: batch, owed, outbox, debt, dead, trail. ARGV: batch id, destination, what is left ('' = nothing), most dead
-- letters that the destination may have of this stream, number of new ones, then field, value of each.
-- Returns 1; 0 where the destination owed nothing (it was confirmed before); -1, and does nothing, where there
-- are too many dead letters.
local mine = 'd/' .. ARGV[2]
local encoding = redis.call('HGET', KEYS[1], mine)
if not encoding then return 0 end
local letters = tonumber(ARGV[5])
local dead = tonumber(redis.call('HGET', KEYS[4], ARGV[2] .. '/dead') or '0')
if letters > 0 and dead + letters > tonumber(ARGV[4]) then return -1 end
for i = 0, letters - 1 do
  redis.call('HINCRBY', KEYS[4], ARGV[2] .. '/dead', redis.call('HSETNX', KEYS[5], ARGV[6 + i * 2], ARGV[7 + i * 2]))
end
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'l/' .. ARGV[2], ARGV[3])
  return 1
end
redis.call('XADD', KEYS[6], 'NOMKSTREAM', '*', 'b', ARGV[1], 'd', ARGV[2])
local bytes = redis.call('HSTRLEN', KEYS[1], 'e/' .. encoding)
redis.call('HDEL', KEYS[1], mine, 'l/' .. ARGV[2])
redis.call('HINCRBY', KEYS[4], ARGV[2] .. '/bytes', -bytes)
redis.call('HINCRBY', KEYS[4], ARGV[2] .. '/batches', -1)
local shared, owing = false, false
local fields = redis.call('HKEYS', KEYS[1])
for i = 1, #fields do
  if string.sub(fields[i], 1, 2) == 'd/' then
    owing = true
    if redis.call('HGET', KEYS[1], fields[i]) == encoding then shared = true end
  end
end
if not owing then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('SREM', KEYS[3], ARGV[1])
elseif not shared then
  redis.call('HDEL', KEYS[1], 'e/' .. encoding, 'c/' .. encoding)
end
return 1
