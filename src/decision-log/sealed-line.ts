/**
 * The personal parts of a record's line: who asked, and about what. Each part stands behind a salt, its seal. The tree of the
 * log has only a commitment to the part: the hash of its salt and its text. So a part can be erased, its commitment takes
 * its place, and the line is still the one that was signed. Without the salt nobody can try values until one fits.
 */
import { hash } from 'node:crypto'
import { lineText } from './log-files.ts'

/** Whether the part tells who asked, or about what. */
type PartName = 'who' | 'facts'

export interface PersonalPart {
  readonly name: PartName
  /** Where the part begins in its line, with the comma before its seal; in bytes. */
  readonly offset: number
  /** Its length, also when it is erased. */
  readonly bytes: number
  /** SHA-256, base64url. */
  readonly commitment: string
  /** The JSON of its members, without braces; undefined if it is erased. */
  readonly text: string | undefined
  /** What an erasure has left behind the commitment: spaces, once it is finished. Empty if the part isn't erased. */
  readonly rest: string
}

const SUFFIX = { who: '', facts: 'Facts' } as const

/** A quotation mark inside of a text is escaped, so this stands only between members. */
const SEAL = /,"(?<state>sealed|erased)(?<suffix>|Facts)":"(?<code>[\w-]{32}|[\w-]{43})"/g
/** What the outbox adds when it ships the record of a write. */
const TAIL = /(?:,"write":\d+)?\}$/

interface SplitLine {
  /** What is never erased, up to the first part. */
  readonly open: string
  readonly parts: readonly PersonalPart[]
  readonly tail: string
}

/** In the order of the line; none in a line of an earlier version or of another program. `line`: as `lineText` tells it. */
export function personalParts(line: string): readonly PersonalPart[] {
  return split(line)?.parts ?? []
}

/**
 * What the tree has of a line: the same before and after an erasure. The line itself if nothing in it can be erased. No
 * line has a line end, so the two kinds are never the same.
 */
export function signedText(line: string): string {
  const found = split(line)
  if (!found) return line
  const commitments = found.parts.map(({ name, bytes, commitment }) => `${name} ${bytes} ${commitment}`)
  return [found.open, ...commitments, found.tail].join('\n')
}

function split(line: string): SplitLine | undefined {
  const seals: RegExpExecArray[] = []
  for (const seal of line.matchAll(SEAL)) {
    const isFacts = seal.groups?.suffix === SUFFIX.facts
    // Facts come last, and only facts have names that a caller chose.
    if (isFacts || seals.length === 0) seals.push(seal)
    if (isFacts) break
  }
  const tail = TAIL.exec(line)
  const [first] = seals
  if (!tail || !first) return undefined
  const { read } = formOf(line)
  const parts = seals.map((seal, at) => partOf(line, seal, seals[at + 1]?.index ?? tail.index))
  return { open: read(line.slice(0, first.index)), parts, tail: line.slice(tail.index) }
}

function partOf(line: string, seal: RegExpExecArray, end: number): PersonalPart {
  const { read, length } = formOf(line)
  const [matched] = seal
  const { state, suffix, code = '' } = seal.groups ?? {}
  const rest = line.slice(seal.index + matched.length, end)
  const name = suffix === '' ? 'who' : 'facts'
  const place = { name, offset: length(line.slice(0, seal.index)), bytes: matched.length + length(rest) } as const
  if (state === 'erased') return { ...place, commitment: code, text: undefined, rest }
  const text = read(rest)
  return { ...place, commitment: hash('sha256', `${code}${text}`, 'base64url'), text: text.slice(1), rest: '' }
}

interface LineForm {
  readonly read: (part: string) => string
  /** In bytes of the file. */
  readonly length: (part: string) => number
}

const WHOLE: LineForm = { read: (part) => part, length: (part) => Buffer.byteLength(part) }
/** An erasure that stands still in the middle of a character: `lineText` tells the bytes. */
const CUT: LineForm = {
  read: (part) => lineText(Buffer.from(part.replace('\0', ''), 'latin1')),
  length: (part) => part.replace('\0', '').length,
}

function formOf(line: string): LineForm {
  return line.startsWith('\0') ? CUT : WHOLE
}

/** What stands at the beginning of an erased part, before its spaces. */
export function erasedSeal({ name, commitment }: PersonalPart): string {
  return `,"erased${SUFFIX[name]}":"${commitment}"`
}

/** Whether an erasure was stopped before it removed all of the part. */
export function isHalfErased({ rest }: PersonalPart): boolean {
  return /[^ ]/.test(rest)
}
