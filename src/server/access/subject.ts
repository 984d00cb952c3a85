/**
 * The subject of an evaluation as a caller: with the roles that the directory has, unless callers.yaml lets the asking
 * service pass the subject's token along or gives its word a bound.
 */
import { onceKnown } from '../../base/now-or-later.ts'
import { isClaimableRole, isSubject } from '../../identity/caller.ts'
import type { Standing } from '../../store/directory.ts'
import type { Asker } from './asker.ts'
import type { SubjectEntity } from './entities.ts'
import type { FoundSubject } from './trust/known-subject.ts'
import { subjectByToken, subjectByWord } from './trust/told-subject.ts'

/** Throws StoreUnavailable. */
export function subjectOf(asker: Asker, subject: SubjectEntity): FoundSubject | Promise<FoundSubject> {
  const { type, id } = subject
  const source = asker.trust.subjects.get(type)
  if (!source) return { reason: 'subject-type' }
  if (!isSubject(id)) return { reason: 'subject-unknown' }
  if (source.kind === 'token') return subjectByToken(asker, subject)
  if (source.kind === 'word') return subjectByWord(asker, subject, source.roles)
  return asker.once(`subject/${id}`, () => {
    return onceKnown(asker.directory.standing(id), (standing) => subjectStanding(id, standing))
  })
}

/** The same standing gives the same caller, so that the policy's tables are found at once. */
const known = new WeakMap<Standing, { readonly id: string; readonly found: FoundSubject }>()

/** A directory may give people who stand alike one standing: none of them is taken for another. */
function subjectStanding(id: string, standing: Standing): FoundSubject {
  const kept = known.get(standing)
  if (kept?.id === id) return kept.found
  const found = judged(id, standing)
  known.set(standing, { id, found })
  return found
}

function judged(id: string, { roles, disabled, deleted }: Standing): FoundSubject {
  if (disabled) return { reason: 'subject-disabled' }
  if (deleted || roles === undefined) return { reason: 'subject-unknown' }
  return { caller: Object.freeze({ id, roles: roles.filter(isClaimableRole), claims: {} }) }
}
