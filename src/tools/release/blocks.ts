/** Changes blocked.txt in one atomic step; keeps its comments and its other lines. */
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type Blocked, blockedLine, parseBlocked } from '../../policy/parse/parse-blocked.ts'
import { readBlockedFile } from '../../policy/policy-files.ts'
import { ReviewError } from '../load-policy.ts'
import { replaceFile } from './durable-file.ts'
import { withLock } from './lock.ts'

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
 * Puts a block in force. Throws ReviewError for an id or a time that the file can't express, FileError for a file with
 * faults.
 */
export async function block(
  directory: string,
  { id, until, reason }: NewBlock,
  now: Date,
): Promise<'blocked' | 'was-blocked'> {
  const line = `${blockedLine(id)}${until === undefined ? '' : ` until=${until}`}`
  const wanted = onlyBlock(line, id)
  const remark = `${REMARK}${now.toISOString()}${reason === undefined ? '' : `: ${oneLine(reason)}`}`
  return withLock(directory, async () => {
    const source = await readBlockedFile(directory)
    const known = parseBlocked(source).get(id)
    if (known && endOf(known.until) >= endOf(wanted.until)) return 'was-blocked'
    await addLines(directory, source.text, [remark, line])
    return 'blocked'
  })
}

/**
 * The number of removed lines. Throws FileError for a file with faults: no command changes a line that it doesn't
 * understand.
 */
export function unblock(directory: string, id: string): Promise<number> {
  return withLock(directory, async () => {
    const source = await readBlockedFile(directory)
    parseBlocked(source)
    const lines = source.text.split('\n')
    const blocksIt = (line: string) => onlyId(line) === id
    const kept = lines.filter(
      (line, i) => !blocksIt(line) && !(line.startsWith(REMARK) && blocksIt(lines[i + 1] ?? '')),
    )
    const removed = lines.filter(blocksIt).length
    if (removed > 0) await replaceBlocked(directory, kept.join('\n'))
    return removed
  })
}

/** Adds lines at the end of blocked.txt. */
export async function addBlocks(directory: string, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return
  await withLock(directory, async () => addLines(directory, (await readBlockedFile(directory)).text, lines))
}

/** The text of blocked.txt with `lines` at its end. */
export function withBlocks(text: string, lines: readonly string[]): string {
  if (lines.length === 0) return text
  const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`
  return `${whole}${lines.join('\n')}\n`
}

function addLines(directory: string, text: string, lines: readonly string[]): Promise<void> {
  return replaceBlocked(directory, withBlocks(text, lines))
}

/** If blocked.txt is a link, it stays one. */
async function replaceBlocked(directory: string, text: string): Promise<void> {
  await replaceFile(await realpath(join(directory, 'blocked.txt')), text)
}

/** The block that a line means. Throws if the line isn't valid (its id is too long, for example). */
function onlyBlock(line: string, id: string): { readonly until: number | undefined } {
  const parsed = attempt(line)
  const found = parsed?.get(id)
  if (!found)
    throw new ReviewError(
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
