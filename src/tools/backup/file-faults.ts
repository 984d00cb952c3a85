/** Says which file or folder of a backup or restore can't be used, and what to do. Other errors stay as they are. */

import { existsSync, statSync } from 'node:fs'
import { namesFile } from '../../base/files/fix-path.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { ToolError } from '../load-policy.ts'

/** `place`: the file or folder that is written. */
export function diskFault(place: string, error: unknown): unknown {
  if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) return error
  return new ToolError(`the disk of \`${place}\` is full; make room, or name a place on another disk`)
}

/** `folder`: where the result is made. */
export function folderFault(folder: string, error: unknown): unknown {
  const fault = diskFault(folder, error)
  if (fault !== error || (error as NodeJS.ErrnoException).syscall === undefined) return fault
  if (codeOf(error) === 'ENOENT' && !existsSync(folder))
    return new ToolError(`there is no folder \`${folder}\`; make it, or name another one`)
  return new ToolError(`the folder \`${folder}\` can't be written (${systemReason(codeOf(error))}); name another one`)
}

/** `what`: the noun of the file in the sentence. `madeBy`: the command that makes such a file. */
export function refuseUnreadable({
  what,
  file,
  madeBy,
}: Record<'what' | 'file' | 'madeBy', string>): (error: unknown) => never {
  return (error) => {
    const named = namesFile(file, codeOf(error)) ? ` \`${file}\`` : ''
    throw new ToolError(
      `the ${what}${named} can't be read (${systemReason(codeOf(error))}); name a file that \`${madeBy}\` made`,
    )
  }
}

export function refuseFolder(file: string): void {
  if (!statSync(file).isDirectory()) return
  throw new ToolError(`\`${file}\` is a folder; name a file that \`sallyport backup\` made`)
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
