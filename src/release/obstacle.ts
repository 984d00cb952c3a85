/** What the system says when a folder can't be written, as a sentence for whoever can do something about it. */
import { ReviewError } from '../review/load-policy.ts'

const WRITABLE = 'run this as a user who may write there'
const ROOM = 'make room and run this again'

const ADVICE: ReadonlyMap<string | undefined, string> = new Map([
  ['EACCES', WRITABLE],
  ['EPERM', WRITABLE],
  ['EROFS', 'its file system is mounted read-only'],
  ['ENOSPC', ROOM],
  ['EDQUOT', ROOM],
])

/** A ReviewError for what the system refused; any other error as it is. */
export function obstacle(directory: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  const advice = ADVICE.get(code)
  return advice === undefined ? error : new ReviewError(`${directory} can't be written (${code}); ${advice}`)
}
