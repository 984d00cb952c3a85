/** One caller of the access matrix, with the roles that the directory knows, and those for a time. */
import type { RoleGrants } from '../../decide/caller.ts'
import { isClaimableRole } from '../../identity/caller.ts'
import { type AccessDirectory, reportedGrants, withGrantedRoles } from '../access/granted-roles.ts'
import { subjectIn } from '../asked/subject-in.ts'
import { ToolError } from '../load-policy.ts'
import type { MatrixSubject } from './matrix.ts'

/** `named`: `user:<id>`. Throws ToolError, also for somebody who can't do anything. */
export async function subjectNamed(
  named: string,
  directory: AccessDirectory,
  grants: RoleGrants,
  now: number,
): Promise<MatrixSubject> {
  const id = subjectIn(named)
  const { roles = [], disabled, deleted } = await withGrantedRoles(directory, grants, now).accountStatus(id)
  if (disabled || deleted) {
    throw new ToolError(`${named} is ${disabled ? 'disabled' : 'deleted'}, and nothing is allowed to it`)
  }
  return { subject: named, roles: roles.filter(isClaimableRole), grants: reportedGrants(grants, id, now) }
}
