#!lua flags=allow-oom
-- Gives a lease back without a commit. KEYS: state. ARGV: token, trouble ('' = none).
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'leaseUntil', 0, 'trouble', ARGV[2])
return 1
