/**
 * The arithmetic of sliding-window.ts as one Redis script: it decides requests, and counts them against all their
 * quotas, in a single step.
 */
import { COUNTED, SUB_WINDOWS } from './sliding-window.ts'

/**
 * Formats of Lua's struct library, and their lengths. They are written into the script as literals, because local
 * variables would cost time.
 */
const HEAD = '<ddI4I4I4'
const HEAD_BYTES = 28
const COUNT = '<I4'
const COUNT_BYTES = 4
const NUMBER = '<d'
const NUMBERS = '<dd'

/**
 * KEYS[i] is the key of quota i, ARGV[2i-1] what it allows (at least 1, less than 2^32), ARGV[2i] its sub-window in
 * microseconds. The other arguments are requests, decided one after the other: the number of quotas that a request
 * counts against, then their numbers, each once. Answers doubles, little-endian, in one string, because a list of
 * numbers takes longer to read: now; then for each request `admitted` (1 or 0), and `used` and `freesAt` of each of its
 * quotas; times in microseconds. A key is read and written once, however many requests count against it.
 *
 * The value of a key is a string, its record: a head of the step, the number of the newest sub-window, the age of the
 * oldest that has a count (in sub-windows), the total and the count of the newest; then the counts of the SUB_WINDOWS
 * before it, newest first. As long as the sub-window stays the same, only the head is written, in place; nothing else
 * changes, not even the key's time to live. That path calls no function of the script, because calls take a quarter
 * more time.
 *
 * Needs Redis 5 (a script may write after TIME). In a Cluster, the keys of a call have no slot in common (KEYS_LAST).
 */
export const SLIDING_WINDOW_SCRIPT = `
local STEP, INDEX, AGE, TOTAL, NEWEST, RECORD, MOVED, COUNTED = 1, 2, 3, 4, 5, 6, 7, 8

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- All that counts lies in the present sub-window. The head of its record is written when it is saved.
local function folded(step, total)
  local record = string.rep('\\0', ${HEAD_BYTES + SUB_WINDOWS * COUNT_BYTES})
  return { step, math.floor(now / step), 0, total, total, record, true }
end

local function count_at(window, age)
  if age == 0 then return window[NEWEST] end
  return (struct.unpack('${COUNT}', window[RECORD], ${HEAD_BYTES} + (age - 1) * ${COUNT_BYTES} + 1))
end

-- The newest sub-window becomes the one \`passed\` before the present; what is too old then takes its counts along.
local function advance(window, passed)
  if passed > ${SUB_WINDOWS} then return folded(window[STEP], 0) end
  local age = window[AGE] + passed
  while age > ${SUB_WINDOWS} do
    window[TOTAL] = window[TOTAL] - count_at(window, age - passed)
    age = age - 1
  end
  local head, older = string.sub(window[RECORD], 1, ${HEAD_BYTES}), string.sub(window[RECORD], ${HEAD_BYTES + 1})
  local newer = string.rep('\\0', (passed - 1) * ${COUNT_BYTES}) .. struct.pack('${COUNT}', window[NEWEST])
  window[RECORD] = head .. newer .. string.sub(older, 1, -#newer - 1)
  window[INDEX], window[NEWEST], window[MOVED] = window[INDEX] + passed, 0, true
  while age > 0 and count_at(window, age) == 0 do age = age - 1 end
  window[AGE] = age
  return window
end

local function moved(window, passed, step)
  if passed > 0 then window = advance(window, passed) end
  if window[STEP] ~= step or passed < -1 then return folded(step, window[TOTAL]) end
  return window
end

-- Age of the sub-window with which more than \`excess\` requests stop counting.
local function age_freeing(window, excess)
  local age = window[AGE]
  while excess >= count_at(window, age) do
    excess = excess - count_at(window, age)
    age = age - 1
  end
  return age
end

local windows, allows = {}, {}
for i = 1, #KEYS do
  local step, stored = tonumber(ARGV[2 * i]), redis.call('GET', KEYS[i])
  local window
  if stored then
    window = { struct.unpack('${HEAD}', stored) }
    window[RECORD] = stored
    local passed = math.floor(now / window[STEP]) - window[INDEX]
    if passed ~= 0 or window[STEP] ~= step then window = moved(window, passed, step) end
  else
    window = folded(step, 0)
  end
  windows[i], allows[i] = window, tonumber(ARGV[2 * i - 1])
end

local answer, size, at = { struct.pack('${NUMBER}', now) }, 1, 2 * #KEYS + 1
while at <= #ARGV do
  local last, admitted = at + tonumber(ARGV[at]), 1
  for j = at + 1, last do
    local i = tonumber(ARGV[j])
    if windows[i][TOTAL] >= allows[i] then admitted = 0 end
  end
  size = size + 1
  answer[size] = struct.pack('${NUMBER}', admitted)
  for j = at + 1, last do
    local i = tonumber(ARGV[j])
    local window, allow = windows[i], allows[i]
    if admitted == 1 then
      window[TOTAL], window[NEWEST], window[COUNTED] = window[TOTAL] + 1, window[NEWEST] + 1, true
    end
    local total, age = window[TOTAL], window[AGE]
    if total > allow then age = age_freeing(window, total - math.max(1, allow)) end
    local frees = total > 0 and (window[INDEX] - age + ${COUNTED}) * window[STEP] or 0
    size = size + 1
    answer[size] = struct.pack('${NUMBERS}', total, frees)
  end
  at = last + 1
end

for i = 1, #KEYS do
  local window = windows[i]
  local step, index, total = window[STEP], window[INDEX], window[TOTAL]
  if window[COUNTED] or window[MOVED] then
    local head = struct.pack('${HEAD}', step, index, window[AGE], total, window[NEWEST])
    if window[MOVED] and total > 0 then
      local ends = (index + ${COUNTED}) * step
      local record = head .. string.sub(window[RECORD], ${HEAD_BYTES + 1})
      redis.call('SET', KEYS[i], record, 'PX', math.ceil((ends - now) / 1000) + 1)
    elseif window[COUNTED] then
      redis.call('SETRANGE', KEYS[i], 0, head)
    end
  end
end
return table.concat(answer)
`

/**
 * Stands before the script to take the keys from the end of the arguments, with their number as the last one. A node of a
 * Cluster lets such a script use all keys that it has. At a key that it doesn't have, the script fails when it reads it,
 * and has written nothing.
 */
export const KEYS_LAST = `
local KEYS = {}
for i = tonumber(table.remove(ARGV)), 1, -1 do KEYS[i] = table.remove(ARGV) end
`

/**
 * Takes back one request that KEYS[1] counted at ARGV[1], in microseconds. Where counts were added up since then
 * (sliding-window.ts), one of the newest is taken back.
 */
export const GIVE_BACK_SCRIPT = `
local stored = redis.call('GET', KEYS[1])
if not stored then return '' end
local step, index, age, total, newest = struct.unpack('${HEAD}', stored)
local passed = index - math.floor(ARGV[1] / step)
if passed < 0 then passed = 0 end

local function place_of(at)
  return at == 0 and ${HEAD_BYTES - COUNT_BYTES} or ${HEAD_BYTES} + (at - 1) * ${COUNT_BYTES}
end
local function count_at(at)
  return (struct.unpack('${COUNT}', stored, place_of(at) + 1))
end

if passed > ${SUB_WINDOWS} or count_at(passed) == 0 then return '' end
local place = place_of(passed)
local count = struct.pack('${COUNT}', count_at(passed) - 1)
stored = string.sub(stored, 1, place) .. count .. string.sub(stored, place + ${COUNT_BYTES + 1})
while age > 0 and count_at(age) == 0 do age = age - 1 end
local head = struct.pack('${HEAD}', step, index, age, total - 1, count_at(0))
redis.call('SETRANGE', KEYS[1], 0, head .. string.sub(stored, ${HEAD_BYTES + 1}))
return ''
`
