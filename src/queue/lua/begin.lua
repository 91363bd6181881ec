#!lua
-- Takes the lease of a stream, or says for how long to wait for it.
-- A deep turn gives way: while a live one wants the lease, it gets none.
-- KEYS: state. ARGV: token, lease in ms, lane ('live' or 'deep').
-- Returns {now, 0 = taken or ms to wait, n, state, trouble, lane of the holder}.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'token', 'leaseUntil', 'n', 'state', 'trouble', 'lane', 'wanted')
local untilMs = tonumber(held[2] or '0') or 0
local wait = 0
if untilMs > now and held[1] ~= ARGV[1] then
  wait = untilMs - now
  if ARGV[3] == 'live' and held[6] == 'deep' then redis.call('HSET', KEYS[1], 'wanted', now) end
elseif ARGV[3] == 'deep' and now - (tonumber(held[7] or '0') or 0) < 1000 then
  wait = 100
end
if wait > 0 then return { now, wait, held[3] or '0', held[4] or '', held[5] or '', held[6] or '' } end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'leaseUntil', now + tonumber(ARGV[2]), 'lane', ARGV[3])
if ARGV[3] == 'live' then redis.call('HDEL', KEYS[1], 'wanted') end
return { now, 0, held[3] or '0', held[4] or '', held[5] or '', ARGV[3] }
