#!lua
-- Commits a page, all or nothing: what has been seen, the batches, and where the pass goes on.
-- KEYS: state, seen, last, owed, outbox, debt, trail, then one key per batch.
-- ARGV: token, n, new state, trouble ('' = none), seen (28 bytes each: 12 of identity, 16 of value),
--   most events in the trail ('' = leave it alone, 0 = none), name of the page,
--   number of `last` pairs, then field, value ('' = delete) of each,
--   then per batch: id, number of hash fields, field, value …, number of debts, destination, bytes …,
--     sequence of its first event ('' = replayed), 11 characters of the id of each event.
-- Returns {1, now}, or {0, n} where the lease is another's or the state is not the one that was read.
local held = redis.call('HMGET', KEYS[1], 'token', 'n', 'trail')
local n = tonumber(held[2] or '0')
if held[1] ~= ARGV[1] or n ~= tonumber(ARGV[2]) then return { 0, n } end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local at = 7
local function take()
  at = at + 1
  return ARGV[at]
end
local function pairsOf(count)
  local list = {}
  for i = 1, count * 2 do list[i] = take() end
  return list
end

local seen = ARGV[5]
local fields = {}
local count = #seen / 28
for first = 1, count, 2000 do
  local last = math.min(count, first + 1999)
  for i = first, last do
    local from = (i - 1) * 28
    fields[(i - first) * 2 + 1] = string.sub(seen, from + 1, from + 12)
    fields[(i - first) * 2 + 2] = string.sub(seen, from + 13, from + 28)
  end
  redis.call('HSET', KEYS[2], unpack(fields, 1, (last - first + 1) * 2))
end

for _ = 1, tonumber(take()) do
  local field, value = take(), take()
  if value == '' then redis.call('HDEL', KEYS[3], field) else redis.call('HSET', KEYS[3], field, value) end
end

-- In events: a batch takes about as much room as ten of its events do, with those who settle it.
local function weigh(ids) return #ids / 11 + 10 end
local trailMax = tonumber(ARGV[6])
local trailed = tonumber(held[3] or '0') or 0
local trailedBefore = trailed
for b = 8, #KEYS do
  local id = take()
  redis.call('HSET', KEYS[b], 'at', now, unpack(pairsOf(tonumber(take()))))
  local debts = pairsOf(tonumber(take()))
  for i = 1, #debts, 2 do
    redis.call('HINCRBY', KEYS[6], debts[i] .. '/bytes', debts[i + 1])
    redis.call('HINCRBY', KEYS[6], debts[i] .. '/batches', 1)
  end
  redis.call('ZADD', KEYS[4], now, id)
  redis.call('SADD', KEYS[5], id)
  local first, ids = take(), take()
  if trailMax and trailMax > 0 then
    redis.call('XADD', KEYS[7], '*', 'b', id, 'p', ARGV[7], 's', first, 'i', ids)
    trailed = trailed + weigh(ids)
  end
end

if trailMax == 0 and trailed > 0 then
  -- Not emptied: what settle adds to a trail that is there would be there for ever.
  redis.call('DEL', KEYS[7])
  trailed = 0
end
while trailMax and trailed > trailMax do
  local oldest = redis.call('XRANGE', KEYS[7], '-', '+', 'COUNT', 1)[1]
  if not oldest then
    trailed = 0
    break
  end
  redis.call('XDEL', KEYS[7], oldest[1])
  -- What settle has added is of no weight.
  if oldest[2][7] == 'i' then trailed = trailed - weigh(oldest[2][8]) end
end
if trailed ~= trailedBefore then redis.call('HSET', KEYS[1], 'trail', trailed) end

redis.call('HSET', KEYS[1], 'n', n + 1, 'leaseUntil', 0, 'trouble', ARGV[4], 'state', ARGV[3])
return { 1, now }
