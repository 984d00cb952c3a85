/** The flags of commands that ask as a caller. */
import type { FolderFlags, FormatFlag } from '../options.ts'

export const AS = ['--as <subject>', 'the id of the caller'] as const
export const AS_ROLE = [
  '--role <name>',
  'a role of the caller; repeat for more (the roles of the users record)',
] as const

export interface AsFlags extends FolderFlags {
  readonly as: string
  readonly role?: readonly string[]
  readonly database?: string
}

export interface ExportFlags extends AsFlags {
  readonly resource: readonly string[]
  readonly output?: string
}

export interface ImportFlags extends AsFlags, FormatFlag {
  readonly keepIds?: boolean
  readonly fromLine: number
  readonly incomplete?: boolean
  readonly again?: boolean
}
