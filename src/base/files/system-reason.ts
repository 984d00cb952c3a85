/** Why the system refused a file or folder, in words: people don't know names such as `ENOENT`. */
import { getSystemErrorMap } from 'node:util'

const REASONS: ReadonlyMap<string | undefined, string> = new Map([
  ...getSystemErrorMap().values(),
  // Where the system's words are hard to understand.
  ['EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a file is in the place of a folder'],
])

/** `code`: of the system's error; one that has no words stays as it is. */
export function systemReason(code: string | undefined): string {
  return REASONS.get(code) ?? code ?? 'unknown error'
}
