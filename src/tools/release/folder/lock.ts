/**
 * The lock that lets only one command at a time change a policy directory, whichever container it runs in; and what to do
 * about a folder that can't be written.
 */

import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writingPlace } from '../../../base/files/project-file.ts'
import { systemReason } from '../../../base/files/system-reason.ts'
import { type FileLock, lockFile, UnlockableFile } from '../../../store/sql/file-lock.ts'
import { ToolError } from '../../load-policy.ts'

const LOCK = '.lock'

/** Throws ToolError while another command is running, and if nothing can be written; LinkOut as `writingPlace`. */
export async function withLock<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    await writingPlace(directory)
    const lock = await takeLock(directory)
    return await work().finally(() => lock.release())
  } catch (error) {
    throw obstacle(directory, error)
  }
}

async function takeLock(directory: string): Promise<FileLock> {
  const file = join(directory, LOCK)
  const lock = await lockFile(file).catch(async (error) => {
    if (error.code === 'ELOOP') throw new ToolError(`${file} is a symbolic link: delete it`)
    if (error.code === 'EACCES' && (await isOnlyFileClosed(file))) {
      throw new ToolError(
        `${file} is of another user's command, and this user can't open it (permission denied): ` +
          'delete it when no command is changing the policies',
      )
    }
    throw error instanceof UnlockableFile ? new ToolError(`${file} ${faultOf(error)}`) : error
  })
  if (lock) return lock
  throw new ToolError(`another command is changing the policies of ${directory}: try again when it has ended`)
}

/** Whoever may write the directory may delete what a killed command left there, also without a right to the file. */
async function isOnlyFileClosed(file: string): Promise<boolean> {
  const open = Promise.all([lstat(file), access(dirname(file), constants.W_OK | constants.X_OK)])
  return open.then(
    () => true,
    () => false,
  )
}

/** Sallyport 0.1 wrote its process number into the file. */
function faultOf({ hasContent, message }: UnlockableFile): string {
  return hasContent
    ? 'is of an earlier version of Sallyport: delete it when no command of that version is running'
    : `can't be locked (${message}): let this user read it, and keep the policies in a file system with file locks`
}

// ---- What to do about a folder that can't be written.

const WRITABLE = 'run the command as a user who may write there'
const ROOM = 'make room, and run the command again'

const ADVICE: ReadonlyMap<string | undefined, string> = new Map([
  ['EACCES', WRITABLE],
  ['EPERM', WRITABLE],
  ['EROFS', 'mount its file system writable'],
  ['ENOSPC', ROOM],
  ['EDQUOT', ROOM],
])

/**
 * Turns an error of the system into a ToolError about the folder that the error names, or about `directory`. Returns
 * any other error unchanged.
 */
export function obstacle(directory: string, error: unknown): unknown {
  const { code, path } = error as NodeJS.ErrnoException
  const advice = ADVICE.get(code)
  const folder = path === undefined ? directory : dirname(path)
  return advice === undefined ? error : new ToolError(`${folder} can't be written (${systemReason(code)}): ${advice}`)
}
