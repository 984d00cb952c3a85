/** The caller that `--as` and `--role` name. */
import type { Caller } from '../../decide/caller.ts'
import { USERS } from '../../decide/policy.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import { isClaimableRole, isSubject } from '../../identity/caller.ts'
import type { CheckAccount } from '../../identity/directory/account-status.ts'
import type { Resources } from '../../resources/resource.ts'
import type { OpenedStore } from '../../store/contract.ts'
import { ToolError } from '../load-policy.ts'

interface CommandSources {
  readonly opened: Pick<OpenedStore, 'store'>
  readonly resources: Resources
  readonly policy: Pick<Snapshot, 'subjectOf'>
  readonly checkAccount: CheckAccount
}

/** Throws ToolError. */
export async function callerOfCommand(
  { subject, roles }: { readonly subject: string; readonly roles: readonly string[] | undefined },
  known: CommandSources,
): Promise<Caller> {
  if (!isSubject(subject)) throw new ToolError('--as is no id of a user: write 1 to 128 characters, without `user:`')
  const found = roles ?? (await recordedRoles(subject, known))
  const isDeclared = (role: string) =>
    known.policy.subjectOf({ id: subject, roles: [role], claims: {} }).roles.has(role)
  const undeclared = roles?.find((role) => !isDeclared(role))
  if (undeclared !== undefined) {
    throw new ToolError(`roles.yaml declares no role \`${undeclared}\`: give a declared role with --role`)
  }
  const caller: Caller = { id: subject, roles: found, claims: {} }
  const authentication = await known.checkAccount({ kind: 'caller', caller })
  if (authentication.kind === 'caller') return authentication.caller
  const reason = authentication.kind === 'rejected' ? authentication.reason : 'not known'
  throw new ToolError(`\`${subject}\` can't ask anything (${reason}): name another user with --as`)
}

async function recordedRoles(subject: string, { opened, resources }: CommandSources): Promise<readonly string[]> {
  const record = resources.byName.has(USERS) ? await opened.store.get(USERS, subject) : undefined
  if (!record) {
    throw new ToolError(`there is no users record of \`${subject}\`: say with --role which roles the caller has`)
  }
  const { roles } = record.document
  return Array.isArray(roles) ? roles.filter((role) => typeof role === 'string').filter(isClaimableRole) : []
}
