/** What the product says about faulty files, as `file:line:column code`. */
import { basename } from 'node:path'
import { FileError } from '../../src/base/diagnostic.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { PolicyFileName } from '../../src/policy/policy-files.ts'
import { RESOURCES } from './fixture.ts'
import { filesOf } from './render.ts'

/** The diagnostics of a FileError, in its order; any other error is thrown on. */
export function placesIn(error: unknown): readonly string[] {
  if (!(error instanceof FileError)) throw error
  return error.diagnostics.map(({ file, line, column, code }) => `${basename(file)}:${line}:${column} ${code}`)
}

/** What is wrong with a policy of which some files are given and the others are sound; nothing, when it is sound. */
export function faultsOf(texts: Partial<Record<PolicyFileName, string>>): readonly string[] {
  try {
    parsePolicy(filesOf(texts), RESOURCES)
    return []
  } catch (error) {
    return placesIn(error)
  }
}
