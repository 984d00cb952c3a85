/** Reads a long text of JSON in steps: JSON.parse of thirty megabytes would hold up the page for half a second. */

/** What JSON.parse reads at once, in characters: less than a millisecond. */
const AT_ONCE = 20_000

/** Gives what JSON.parse gives. Throws SyntaxError for what JSON.parse refuses. */
export function* parseInSteps(text: string, atOnce = AT_ONCE): Generator<void, unknown> {
  const { value, end } = yield* readValue({ text, atOnce }, 0)
  if (spaceEnd(text, end) < text.length) throw faultAt(end)
  return value
}

interface Reading {
  readonly text: string
  readonly atOnce: number
}

interface Read {
  readonly value: unknown
  /** Behind it. */
  readonly end: number
}

/** A value that isn't too long is read at once, and of a longer one its parts. */
function* readValue(reading: Reading, from: number): Generator<void, Read> {
  const { text, atOnce } = reading
  const start = spaceEnd(text, from)
  const end = endOf(text, start, start + atOnce)
  yield
  if (end !== undefined) return { value: JSON.parse(text.slice(start, end)), end }
  if (text[start] === '[') return yield* readList(reading, start)
  if (text[start] === '{') return yield* readObject(reading, start)
  throw faultAt(start)
}

function* readList(reading: Reading, start: number): Generator<void, Read> {
  const values: unknown[] = []
  for (let from = start + 1; ; ) {
    const { value, end } = yield* readValue(reading, from)
    values.push(value)
    from = nextPart(reading.text, end, ']')
    if (from < 0) return { value: values, end: -from }
  }
}

function* readObject(reading: Reading, start: number): Generator<void, Read> {
  const { text } = reading
  const entries: [string, unknown][] = []
  for (let from = start + 1; ; ) {
    const key = spaceEnd(text, from)
    const keyEnd = text[key] === '"' ? stringEnd(text, key) : key
    const colon = spaceEnd(text, keyEnd)
    if (text[colon] !== ':') throw faultAt(colon)
    const { value, end } = yield* readValue(reading, colon + 1)
    entries.push([JSON.parse(text.slice(key, keyEnd)), value])
    from = nextPart(text, end, '}')
    if (from < 0) return { value: Object.fromEntries(entries), end: -from }
  }
}

/** Where the next part begins, behind a comma; negative: where the whole ends. */
function nextPart(text: string, from: number, close: string): number {
  const at = spaceEnd(text, from)
  if (text[at] === close) return -(at + 1)
  if (text[at] === ',') return at + 1
  throw faultAt(at)
}

const SPACE = /[ \t\n\r]*/y

function spaceEnd(text: string, from: number): number {
  SPACE.lastIndex = from
  SPACE.test(text)
  return Math.max(from, SPACE.lastIndex)
}

const DEPTHS: Readonly<Record<string, number>> = { '[': 1, '{': 1, ']': -1, '}': -1 }

/** Behind a value, or what JSON.parse will refuse; undefined for a list or an object with parts behind `most`. */
function endOf(text: string, start: number, most: number): number | undefined {
  let depth = 0
  for (let at = signFrom(text, start); at < text.length; at = signFrom(text, at)) {
    const sign = text[at] ?? ''
    if (depth === 0 && /[\]},]/.test(sign)) return at
    depth += DEPTHS[sign] ?? 0
    at = sign === '"' ? stringEnd(text, at) : at + 1
    if (depth === 0) return at
    if (at > most) return undefined
  }
  return text.length
}

const SIGN = /[[\]{},"]/g

function signFrom(text: string, from: number): number {
  SIGN.lastIndex = from
  return SIGN.test(text) ? SIGN.lastIndex - 1 : text.length
}

/** Behind its second quotation mark. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; ; ) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return text.length
    let escapes = 0
    while (text[quote - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return quote + 1
    at = quote + 1
  }
}

function faultAt(at: number): SyntaxError {
  return new SyntaxError(`no JSON at ${at}`)
}
