#!lua flags=allow-oom
-- Looks through the seen set for entries whose mark is below a bound. With deletion (a timeline's memory is
-- bounded by time) or without (an inventory's missing identities), where those that are closed are passed
-- over until they are older than a second bound, and then deleted.
-- KEYS: seen, state, last. ARGV: cursor, bound, 'prune' or 'missing', bound for closed, token, number of the holder's commits.
-- Returns {next cursor, found (28 bytes each), last records of those found …}.
local held = redis.call('HMGET', KEYS[2], 'token', 'n')
if held[1] ~= ARGV[5] or tonumber(held[2] or '0') ~= tonumber(ARGV[6]) then return { '-1', '' } end
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 1000)
local bound, closedBound = tonumber(ARGV[2]), tonumber(ARGV[4])
local found, gone = {}, {}
for i = 1, #page[2], 2 do
  local key, value = page[2][i], page[2][i + 1]
  local mark = struct.unpack('>I4', value, 13)
  local closed = string.byte(value, 12) % 2 == 1
  if ARGV[3] == 'prune' then
    if mark < bound then gone[#gone + 1] = key end
  elseif closed then
    if mark < closedBound then gone[#gone + 1] = key end
  elseif mark < bound then
    found[#found + 1] = key .. value
  end
end
for first = 1, #gone, 4000 do
  redis.call('HDEL', KEYS[1], unpack(gone, first, math.min(#gone, first + 3999)))
end
local result = { page[1], table.concat(found) }
for i = 1, #found do
  result[i + 2] = redis.call('HGET', KEYS[3], string.sub(found[i], 1, 12)) or ''
end
return result
