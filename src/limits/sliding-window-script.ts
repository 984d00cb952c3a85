/** The rules of window.ts as one Redis script: all quotas of a request are decided, and counted, in a single step. */
import { COUNTED, SUB_WINDOWS } from './window.ts'

/** Formats of Lua's struct library, and their lengths. Written into the script, as its local variables cost time. */
const HEAD = '<ddI4I4I4'
const HEAD_BYTES = 28
const COUNT = '<I4'
const COUNT_BYTES = 4

/**
 * KEYS[i] is the key of quota i, ARGV[2i-1] what it allows (at least 1, less than 2^32), ARGV[2i] its sub-window in
 * microseconds. Answers { admitted (1 or 0), now, used 1, freesAt 1, used 2, freesAt 2, ... }, times in microseconds.
 *
 * A key holds a string, its record: a head of the step, the number of the newest sub-window, the age of the oldest that
 * has a count (in sub-windows), the total and the count of the newest; then the counts of the SUB_WINDOWS before it,
 * newest first. As long as the sub-window stays the same only the head is written, in place: nothing else changes, the
 * key's time to live included. That path calls none of the script's functions, as that takes a quarter more time.
 *
 * Needs Redis 5 (a script may write after TIME) and no Cluster: the keys of a call have no slot in common.
 */
export const SLIDING_WINDOW_SCRIPT = `
local STEP, INDEX, AGE, TOTAL, NEWEST, RECORD, MOVED = 1, 2, 3, 4, 5, 6, 7

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

local windows, admitted = {}, 1
for i = 1, #KEYS do
  local allow, step, stored = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i]), redis.call('GET', KEYS[i])
  local window
  if stored then
    window = { struct.unpack('${HEAD}', stored) }
    window[RECORD] = stored
    local passed = math.floor(now / window[STEP]) - window[INDEX]
    if passed ~= 0 or window[STEP] ~= step then window = moved(window, passed, step) end
  else
    window = folded(step, 0)
  end
  if window[TOTAL] >= allow then admitted = 0 end
  windows[i] = window
end

local answer = { admitted, now }
for i = 1, #KEYS do
  local window, allow, key = windows[i], tonumber(ARGV[2 * i - 1]), KEYS[i]
  local step, index, age, total = window[STEP], window[INDEX], window[AGE], window[TOTAL] + admitted
  local head = struct.pack('${HEAD}', step, index, age, total, window[NEWEST] + admitted)
  if window[MOVED] and total > 0 then
    local ends = (index + ${COUNTED}) * step
    local record = head .. string.sub(window[RECORD], ${HEAD_BYTES + 1})
    redis.call('SET', key, record, 'PX', math.ceil((ends - now) / 1000) + 1)
  elseif admitted == 1 then
    redis.call('SETRANGE', key, 0, head)
  end
  if total > allow then age = age_freeing(window, total - math.max(1, allow)) end
  answer[2 * i + 1] = total
  answer[2 * i + 2] = total > 0 and (index - age + ${COUNTED}) * step or 0
end
return answer
`
