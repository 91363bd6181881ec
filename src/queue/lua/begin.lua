#!lua
-- Takes the lease of a stream, or says for how long another holds it.
-- KEYS: state. ARGV: token, lease in ms.
-- Returns {now, 0 = taken or ms to wait, n, state, trouble}.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'token', 'leaseUntil', 'n', 'state', 'trouble')
local untilMs = tonumber(held[2] or '0') or 0
if untilMs > now and held[1] ~= ARGV[1] then
  return { now, untilMs - now, held[3] or '0', held[4] or '', held[5] or '' }
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'leaseUntil', now + tonumber(ARGV[2]))
return { now, 0, held[3] or '0', held[4] or '', held[5] or '' }
