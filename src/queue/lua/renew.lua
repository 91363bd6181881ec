#!lua
-- Keeps a lease. KEYS: state. ARGV: token, lease in ms. Returns 1, or 0 where it is another's.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'leaseUntil', t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(ARGV[2]))
return 1
