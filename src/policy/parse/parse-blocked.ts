/**
 * Parses blocked.txt, the users that the server refuses before any rule. Each line is `user:<id>`, optionally followed
 * by `until=<time>`; `#` begins a comment. An id with a space or an invisible character is a JSON string:
 * `"user:first last"`.
 */
import { Faults, type Place, type SourceFile } from '../../base/diagnostic.ts'
import { parseTime, timeFault } from '../../base/time.ts'
import type { Block } from '../../decide/policy.ts'
import { reportInvisible } from './rule-lines.ts'

/** Blocked users by id. */
export type Blocked = ReadonlyMap<string, Block>

/**
 * Throws FileError with all faults: a faulty line could be the one that matters. If several lines name one user, the
 * longest block counts.
 */
export function parseBlocked(source: SourceFile): Blocked {
  const longest = readBlocks(source).toSorted((a, b) => (a.until ?? Infinity) - (b.until ?? Infinity))
  return new Map(longest.map(({ id, until }) => [id, { id, until }]))
}

/** Those of each line, with their places. Throws FileError. */
export function readBlocks(source: SourceFile): readonly (Block & { readonly place: Place })[] {
  const { name, text } = source
  const faults = new Faults()
  reportInvisible(source, faults.report)
  const blocks = text.split(/\r?\n/).flatMap((line, index) => {
    const written = withoutComment(line).trimEnd()
    if (written.trim() === '') return []
    const place = { file: name, line: index + 1, column: line.search(/\S/) + 1 }
    const fault = (code: string, message: string, hint: string) => {
      faults.report({ ...place, code, severity: 'error', message, hint })
      return []
    }
    return parseLine(written, fault).map((block) => ({ ...block, place }))
  })
  faults.throwAny()
  return blocks
}

/** The line that blocks a user without end: plain if possible, otherwise as a JSON string of visible characters. */
export function blockedLine(id: string): string {
  const plain = `user:${id}`
  if (/^(?!.*[,;])[!-~]+$/.test(id)) return plain
  return JSON.stringify(plain).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Inside quotes, `#` doesn't begin a comment. */
function withoutComment(line: string): string {
  return line.replace(/^("(?:[^"\\]|\\.)*")?(.*?)(?:(?:^|\s)#.*)?$/, '$1$2')
}

function parseLine(line: string, fault: (code: string, message: string, hint: string) => never[]): readonly Block[] {
  const { quoted, plain, until } = LINE.exec(line)?.groups ?? {}
  const joined = joinedParts(line.replace(QUOTED, ''))
  if (joined) return fault('blocked-line', ...joined)
  const id = quoted === undefined ? plain : idOf(quoted)
  if (!id) return fault('blocked-line', 'the line is not `user:<id>`, optionally followed by `until=<time>`', EXAMPLE)
  if ([...id].length > 128) return fault('user-id', 'the user id has more than 128 characters', EXAMPLE)
  if (plain && plain.trimStart() !== plain) return fault('blocked-line', `\`${id}\` begins with a space`, QUOTES)
  if (until === undefined) {
    const words = plain !== undefined && /\s/.test(plain)
    return words ? fault('blocked-line', `\`${id}\` has a space in it`, QUOTES) : [{ id, until }]
  }
  const time = parseTime(until)
  return time === undefined ? fault('blocked-until', timeFault(until), EXAMPLE) : [{ id, until: time }]
}

const LINE = /^(?:(?<quoted>"(?:[^"\\]|\\.)*")|user:(?<plain>.*?))(?:\s+until=(?<until>\S*))?$/

const QUOTED = /^"(?:[^"\\]|\\.)*"/

const BARE_TIME = /[\s,;](?:(?:un)?till?\s?[=:]?\s?)?\d{4}-\d\d?-\d\d?(?!\d)\S*$/i

/** An id may have commas, but a list of users, or a user with a time, would pass for one id, which blocks nobody. */
function joinedParts(line: string): readonly [message: string, hint: string] | undefined {
  const isTimed = line.includes('until=')
  if (!isTimed && BARE_TIME.test(line)) return ['a time stands behind the user without `until=`', EXAMPLE]
  if (LISTED.test(line)) {
    const hint = isTimed ? `put a space, and no comma, before until=; ${ONE_A_LINE}` : ONE_A_LINE
    return ['the line has a comma between its parts', hint]
  }
  return SEVERAL.test(line) ? ['the line names several users', ONE_A_LINE] : undefined
}

const LISTED = /,\s*(?:user:|until=|$)|,\s|^(?!\s*user:)[^"]*,/
const SEVERAL = /[\s;]user:/
const ONE_A_LINE =
  'write each user on a line of its own, as in: user:mallory (an id with a comma in quotes: "user:a, b")'

const EXAMPLE = 'write it as in: user:mallory until=2027-01-31T18:00:00Z'
const QUOTES = 'write it in quotes, as in: "user:first last"'

/** Undefined if the text isn't a JSON string, or names nobody. */
function idOf(quoted: string): string | undefined {
  try {
    return /^user:(?<id>.*)$/su.exec(JSON.parse(quoted))?.groups?.id
  } catch {
    return undefined
  }
}
