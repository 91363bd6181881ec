#!lua flags=no-writes
-- What is known of a page's identities. KEYS: seen. ARGV: 12 bytes of each identity, joined.
-- Returns 16 bytes for each, joined; zeros where it is unknown.
local keys = ARGV[1]
local zeros = string.rep('\0', 16)
local found = {}
local fields = {}
local count = #keys / 12
for first = 1, count, 4000 do
  local last = math.min(count, first + 3999)
  for i = first, last do fields[i - first + 1] = string.sub(keys, (i - 1) * 12 + 1, i * 12) end
  local values = redis.call('HMGET', KEYS[1], unpack(fields, 1, last - first + 1))
  for i = 1, last - first + 1 do found[first + i - 1] = values[i] or zeros end
end
return table.concat(found)
