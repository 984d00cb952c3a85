/** Changes blocked.txt of a directory in one atomic step. */
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../../base/files/durable-file.ts'
import { readBlockedFile } from '../../../policy/policy-files.ts'
import { type NewBlock, withBlock, withBlocks, withoutBlock } from '../block-lines.ts'
import { withLock } from './lock.ts'

/**
 * Puts a block in force. Throws ToolError for an id or a time that the file can't express, FileError for a file with
 * faults.
 */
export function block(directory: string, block: NewBlock, now: Date): Promise<'blocked' | 'was-blocked'> {
  return withLock(directory, async () => {
    const text = withBlock(await readBlockedFile(directory), block, now)
    if (text === undefined) return 'was-blocked'
    await replaceBlocked(directory, text)
    return 'blocked'
  })
}

/** The number of removed lines. Throws FileError for a file with faults. */
export function unblock(directory: string, id: string): Promise<number> {
  return withLock(directory, async () => {
    const { text, removed } = withoutBlock(await readBlockedFile(directory), id)
    if (removed > 0) await replaceBlocked(directory, text)
    return removed
  })
}

/** Adds lines at the end of blocked.txt. */
export async function addBlocks(directory: string, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return
  await withLock(directory, async () => {
    await replaceBlocked(directory, withBlocks((await readBlockedFile(directory)).text, lines))
  })
}

/** If blocked.txt is a link, it stays one. */
async function replaceBlocked(directory: string, text: string): Promise<void> {
  await replaceFile(await realpath(join(directory, 'blocked.txt')), text)
}
