#!lua flags=no-writes
-- What a destination still owes of a batch. KEYS: batch. ARGV: destination.
-- Returns nothing where it owes nothing, else {left ('' = all), at, oldest event time, count, bytes}.
local encoding = redis.call('HGET', KEYS[1], 'd/' .. ARGV[1])
if not encoding then return {} end
local found = redis.call('HMGET', KEYS[1], 'l/' .. ARGV[1], 'at', 'oldest', 'c/' .. encoding, 'e/' .. encoding)
return { found[1] or '', found[2] or '0', found[3] or '0', found[4] or '0', found[5] or '' }
