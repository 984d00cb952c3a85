/** Changes the text of blocked.txt; keeps its comments and its other lines. */
import type { SourceFile } from '../../base/diagnostic.ts'
import { type Blocked, blockedLine, parseBlocked } from '../../policy/parse/parse-blocked.ts'
import { ToolError } from '../load-policy.ts'

export interface NewBlock {
  /** Without the prefix `user:`. */
  readonly id: string
  /** RFC 3339; undefined for a block without end. */
  readonly until: string | undefined
  readonly reason: string | undefined
}

/** Begins the comment that `block` writes above its line, and that `unblock` removes together with the line. */
const REMARK = '# blocked '

/**
 * The text with the block; undefined if the user is already blocked for that long. Throws ToolError for an id or a
 * time that the file can't express, FileError for a file with faults.
 */
export function withBlock(source: SourceFile, { id, until, reason }: NewBlock, now: Date): string | undefined {
  const line = `${blockedLine(id)}${until === undefined ? '' : ` until=${until}`}`
  const wanted = onlyBlock(line, id)
  const remark = `${REMARK}${now.toISOString()}${reason === undefined ? '' : `: ${oneLine(reason)}`}`
  const known = parseBlocked(source).get(id)
  if (known && endOf(known.until) >= endOf(wanted.until)) return undefined
  return withBlocks(source.text, [remark, line])
}

/**
 * The text without the lines that block the user, and their number. Throws FileError for a file with faults: no command
 * changes a line that it doesn't understand.
 */
export function withoutBlock(source: SourceFile, id: string): { readonly text: string; readonly removed: number } {
  parseBlocked(source)
  const lines = source.text.split('\n')
  const blocksIt = (line: string) => onlyId(line) === id
  const kept = lines.filter((line, i) => !blocksIt(line) && !(line.startsWith(REMARK) && blocksIt(lines[i + 1] ?? '')))
  return { text: kept.join('\n'), removed: lines.filter(blocksIt).length }
}

/** The text of blocked.txt with `lines` at its end. */
export function withBlocks(text: string, lines: readonly string[]): string {
  if (lines.length === 0) return text
  const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`
  return `${whole}${lines.join('\n')}\n`
}

/** The block that a line means. Throws if the line isn't valid (its id is too long, for example). */
function onlyBlock(line: string, id: string): { readonly until: number | undefined } {
  const parsed = attempt(line)
  const found = parsed?.get(id)
  if (!found)
    throw new ToolError(
      `\`${line}\` is not a valid line of blocked.txt: write user:<id>, and a time as 2027-01-31T18:00:00Z`,
    )
  return found
}

function onlyId(line: string): string | undefined {
  return attempt(line)?.keys().next().value
}

function attempt(line: string): Blocked | undefined {
  try {
    return parseBlocked({ name: 'blocked.txt', text: line })
  } catch {
    return undefined
  }
}

function endOf(until: number | undefined): number {
  return until ?? Number.POSITIVE_INFINITY
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
}
