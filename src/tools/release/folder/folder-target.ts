/** A policy directory as the target of releases, and the changes of its blocked.txt. */

import { join } from 'node:path'
import { replaceFile } from '../../../base/files/durable-file.ts'
import { writingPlace } from '../../../base/files/project-file.ts'
import { readBlockedFile } from '../../../policy/policy-files.ts'
import { type NewBlock, withBlock, withBlocks, withoutBlock } from '../block-lines.ts'
import type { ReleaseTarget } from '../target.ts'
import { readHistory, readIntact } from '../version.ts'
import { type Home, nameOf } from './layout.ts'
import { withLock } from './lock.ts'
import { putInForce } from './put-in-force.ts'
import { isHeldBack } from './swap-policy-files.ts'

export function folderTarget(home: Home): ReleaseTarget {
  const { directory } = home
  return {
    name: directory,
    done: 'in force',
    folder: directory,
    isEmpty: false,
    refused: [],
    history: () => readHistory(home),
    contentOf: (version) => readIntact(home, version),
    placeOf: (version) => join(home.versions, nameOf(version)),
    isHeldBack: () => isHeldBack(directory),
    put: async ({ blocks, sameRules, ...change }) => {
      await addBlocks(directory, blocks)
      return sameRules ? undefined : putInForce(home, change)
    },
    block: (added, now) => block(directory, added, now),
    unblock: (id) => unblock(directory, id),
    close: async () => {},
  }
}

// ---- blocked.txt of a directory, changed in one atomic step.

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
async function addBlocks(directory: string, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return
  await withLock(directory, async () => {
    await replaceBlocked(directory, withBlocks((await readBlockedFile(directory)).text, lines))
  })
}

/** If blocked.txt is a link, it stays one. */
async function replaceBlocked(directory: string, text: string): Promise<void> {
  await replaceFile(await writingPlace(join(directory, 'blocked.txt')), text)
}
