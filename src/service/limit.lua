#!lua
-- Slots of the rate limit. A slot is taken by a request and free again at its score.
-- KEYS: slots (sorted set: slot → Unix ms), embargo (text: Unix ms).
-- ARGV: slots in all, wanted, ms until a slot is free whose request never ends, name of the first slot,
--   ms of embargo to begin (0: none), then slot, ms until it is free of each request that has ended.
-- Returns {slots granted, ms to wait for the next}.
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
for i = 6, #ARGV, 2 do redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[i + 1]), ARGV[i]) end
local embargo = tonumber(redis.call('GET', KEYS[2]) or '0')
-- Where nothing is known of the last second (a first start, an emptied Redis), it is waited out.
if redis.call('EXISTS', KEYS[2]) == 0 then embargo = now + 1000 end
if tonumber(ARGV[5]) > 0 then embargo = math.max(embargo, now + tonumber(ARGV[5])) end
redis.call('SET', KEYS[2], string.format('%.0f', embargo), 'PX', 86400000)
local wanted = tonumber(ARGV[2])
if wanted == 0 then return { 0, 0 } end
if embargo > now then return { 0, math.ceil(embargo - now) } end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local granted = math.min(wanted, tonumber(ARGV[1]) - redis.call('ZCARD', KEYS[1]))
for i = 0, granted - 1 do redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[4] .. i) end
redis.call('PEXPIRE', KEYS[1], 3600000)
if granted >= wanted then return { granted, 0 } end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return { math.max(0, granted), math.max(1, math.min(50, math.ceil(tonumber(first[2]) - now))) }
