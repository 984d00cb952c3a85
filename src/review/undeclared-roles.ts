/** Roles that a token would claim for nothing: a role that roles.yaml doesn't declare grants nothing (semantics.md). */
import { parseRoles } from '../policy/parse-vocabulary.ts'
import { readPolicyFiles } from '../policy/policy-files.ts'
import { FileError } from '../problems/diagnostic.ts'

/** Those of `roles` that the policy files don't declare; none where there are no sound files to tell by. */
export async function undeclaredRoles(directory: string, roles: readonly string[]): Promise<readonly string[]> {
  try {
    const files = await readPolicyFiles(directory)
    const declared = parseRoles(files['roles.yaml'], (diagnostic) => {
      throw new FileError([diagnostic])
    })
    return roles.filter((role) => !declared.has(role))
  } catch (error) {
    if (error instanceof FileError || (error as NodeJS.ErrnoException).syscall) return []
    throw error
  }
}
