/** Where policies are put in force: a folder, or the versions in a database. */
import type { NewBlock } from './block-lines.ts'
import type { PolicyContent } from './content.ts'
import type { VersionChange } from './folder/put-in-force.ts'
import type { PolicyVersion } from './version.ts'

export interface ReleaseTarget {
  /** For messages: the directory, or `database:`. */
  readonly name: string
  /** What a new version is then: `in force`, or `published`. */
  readonly done: string
  /** A folder with the files in force; of a database, it holds a copy, or nothing before the first version. */
  readonly folder: string
  readonly isEmpty: boolean
  /** Why stored versions aren't valid, a sentence each. */
  readonly refused: readonly string[]
  /** The versions that were in force, in the order of their numbers. Throws ToolError. */
  history(): Promise<readonly PolicyVersion[]>
  /** Throws ToolError if somebody has changed the version's files. */
  contentOf(version: PolicyVersion): Promise<PolicyContent>
  /** The path of the version's files, for messages. */
  placeOf(version: PolicyVersion): string
  /** Whether a command that was killed left its files unfinished. */
  isHeldBack(): Promise<boolean>
  /** Undefined if only blocks were added, and these make no version. Throws ToolError if somebody was faster. */
  put(change: ReleaseChange): Promise<PolicyVersion | undefined>
  block(block: NewBlock, now: Date): Promise<'blocked' | 'was-blocked'>
  /** The number of removed lines. */
  unblock(id: string, now: Date): Promise<number>
  close(): Promise<void>
}

export interface ReleaseChange extends VersionChange {
  /** Lines to add to blocked.txt. */
  readonly blocks: readonly string[]
  /** Only blocks are added. */
  readonly sameRules: boolean
}
