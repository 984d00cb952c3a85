/** Finds roles that roles.yaml doesn't declare: they grant nothing (semantics.md). */

import { FileError } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { parseRoles } from '../../policy/parse/parse-vocabulary.ts'
import { readPolicyFiles } from '../../policy/policy-files.ts'

/** A role that the policy files don't declare, and a similar name (did-you-mean.ts). */
interface Undeclared {
  readonly role: string
  readonly meant: string
}

/** Empty if the files are missing or have errors. */
export async function undeclaredRoles(directory: string, roles: readonly string[]): Promise<readonly Undeclared[]> {
  try {
    const files = await readPolicyFiles(directory)
    const declared = parseRoles(files['roles.yaml'], (diagnostic) => {
      throw new FileError([diagnostic])
    })
    const undeclared = roles.filter((role) => !declared.has(role))
    return undeclared.map((role) => ({ role, meant: didYouMean(role, declared.keys()) }))
  } catch (error) {
    if (error instanceof FileError || (error as NodeJS.ErrnoException).syscall) return []
    throw error
  }
}
