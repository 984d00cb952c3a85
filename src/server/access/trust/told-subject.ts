/** A subject whose roles and attributes come from its own token, or from the word of the asking service (callers.yaml). */
import { onceKnown } from '../../../base/now-or-later.ts'
import type { FieldFault } from '../../../base/problems/problem.ts'
import type { Caller } from '../../../decide/caller.ts'
import { USERS } from '../../../decide/policy.ts'
import { isClaimableRole } from '../../../identity/caller.ts'
import type { Json } from '../../../resources/resource.ts'
import { failureOf, verifyCredentials } from '../../stages/authenticate.ts'
import type { Asker } from '../asker.ts'
import { refuseFaultyMembers, type SubjectEntity } from '../entities.ts'
import type { FoundSubject } from './known-subject.ts'

/** The member of `subject.properties` with the token. It is never logged, nor kept in records. */
const TOKEN = 'token'
const ROLES = ['roles', 'role']

/** Throws StoreUnavailable, and Problem where no key server answers. */
export function subjectByToken(asker: Asker, { id, properties }: SubjectEntity): FoundSubject | Promise<FoundSubject> {
  const token = properties?.[TOKEN]
  if (typeof token !== 'string') return { reason: 'subject-token' }
  return asker.once(`token/${JSON.stringify([id, token])}`, () =>
    onceKnown(verifyCredentials(asker.verifier, { kind: 'bearer', token }), (found): FoundSubject => {
      if (found.kind === 'failed') throw failureOf(found)
      if (found.kind !== 'caller' || found.caller.id !== id) return { reason: 'subject-token' }
      return { caller: asker.policy.snapshot.withRoles(found.caller), byToken: true }
    }),
  )
}

/**
 * A disabled or deleted person stays out, whatever is told. So does a person that a rule names: an entry's roles bound
 * no such grant. Throws Problem invalid-body for roles that aren't texts.
 */
export function subjectByWord(
  asker: Asker,
  { id, properties = {} }: SubjectEntity,
  most: ReadonlySet<string>,
): FoundSubject | Promise<FoundSubject> {
  const roles = rolesIn(properties).filter((role) => most.has(role) && isClaimableRole(role))
  const told = Object.entries(properties).filter(([name]) => name !== TOKEN && !ROLES.includes(name))
  refuseFaultyMembers(faultsOf(asker, told))
  if (asker.policy.snapshot.grantsByName(id)) return { reason: 'subject-named' }
  const caller: Caller = Object.freeze({ id, roles, claims: Object.fromEntries(told) })
  return onceKnown(asker.directory.standing(id), ({ disabled, deleted }): FoundSubject => {
    return disabled || deleted ? { reason: 'subject-disabled' } : { caller, isTold: true }
  })
}

/** `roles` or `role`: one or a list. */
function rolesIn(properties: NonNullable<SubjectEntity['properties']>): readonly string[] {
  return ROLES.flatMap((member) => {
    const told = Object.hasOwn(properties, member) ? [properties[member] ?? []].flat() : []
    if (told.every((role) => typeof role === 'string')) return told
    const detail = 'must be a role or a list of roles'
    return refuseFaultyMembers([{ pointer: `/subject/properties/${member}`, detail, code: 'type' }])
  })
}

/** Attributes that users records have are of their types. Null and a missing one are unknown, which is no fault. */
function faultsOf({ resources }: Asker, told: readonly (readonly [string, Json])[]): readonly FieldFault[] {
  const users = resources.byName.get(USERS)
  const known = told.filter(([name, value]) => name !== 'id' && value !== null && users?.fields.has(name))
  const faults = users?.validate(Object.fromEntries(known)) ?? []
  return faults
    .filter(({ code, pointer }) => code !== 'required' || pointer.split('/').length > 2)
    .map((fault) => ({ ...fault, pointer: `/subject/properties${fault.pointer}` }))
}
