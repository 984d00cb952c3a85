/** The subject of an evaluation as a caller: with the roles that the directory has, never with those that a service claims. */
import { onceKnown } from '../../base/now-or-later.ts'
import type { Caller } from '../../decide/caller.ts'
import { isClaimableRole, isSubject } from '../../identity/caller.ts'
import type { Standing } from '../../store/directory.ts'
import type { Asker } from './asker.ts'
import type { DenialReason } from './denial-reasons.ts'
import type { SubjectEntity } from './entities.ts'

export type FoundSubject = { readonly caller: Caller } | { readonly reason: DenialReason }

/** Throws StoreUnavailable. */
export function subjectOf(asker: Asker, { type, id }: SubjectEntity): FoundSubject | Promise<FoundSubject> {
  if (type !== 'user') return { reason: 'subject-type' }
  if (!isSubject(id)) return { reason: 'subject-unknown' }
  return asker.once(JSON.stringify(['subject', id]), () => {
    return onceKnown(asker.directory.standing(id), (standing) => subjectStanding(id, standing))
  })
}

/** The same standing gives the same caller, so that the policy's tables are found at once. */
const known = new WeakMap<Standing, FoundSubject>()

function subjectStanding(id: string, standing: Standing): FoundSubject {
  const found = known.get(standing) ?? judged(id, standing)
  known.set(standing, found)
  return found
}

function judged(id: string, { roles, disabled, deleted }: Standing): FoundSubject {
  if (disabled) return { reason: 'subject-disabled' }
  if (deleted || roles === undefined) return { reason: 'subject-unknown' }
  return { caller: Object.freeze({ id, roles: roles.filter(isClaimableRole), claims: {} }) }
}
