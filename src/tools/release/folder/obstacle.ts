/** Turns the system's error about a folder that can't be written into a sentence that says what to do. */
import { dirname } from 'node:path'
import { ToolError } from '../../load-policy.ts'

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
  return advice === undefined ? error : new ToolError(`${folder} can't be written (${code}): ${advice}`)
}
