/**
 * The permit that a recorded write would get from a decision, for the object after the write, as far as the record
 * shows.
 */

import type { CreateDecision, Decision, UpdateDecision } from '../../decide/decision.ts'
import type { Facts } from '../../decide/evidence.ts'
import type { FactNeed, Steps } from '../../decide/facts.ts'
import { replacedBy } from '../../decide/permits/propose.ts'
import { isRefusal, type Refusal } from '../../decide/refusal.ts'
import { type FilledField, filledFields, valuesToFill } from '../../decide/relations/ownership.ts'
import { askingAs } from '../../decide/relations/relation-kind.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { represent } from '../../resources/object.ts'
import type { Representation, Resource } from '../../resources/resource.ts'
import { AnswerMissing, FactsMissing, isUnknown, type RecordedRequest } from './recorded.ts'

/** Stands for the new value of a field that changed, where the record doesn't hold the value. */
const CHANGED = '\u0000changed'

/** The changes of a write that its body doesn't name, under the policy that decides. */
interface Unasked {
  /** The fields that a PUT sets or removes. */
  readonly replacedBy: (decision: UpdateDecision) => readonly string[]
  /** The values of a new object's fields that the body doesn't name. Throws FactsMissing. */
  readonly given: (named: readonly string[]) => Representation
}

/** Under the policy of the snapshot. */
export function unaskedUnder(snapshot: Snapshot, { resource, caller }: RecordedRequest): Unasked {
  const filled = filledFields(resource, snapshot.ownershipOf(resource.name))
  return {
    replacedBy: ({ writable, filled: kept }) => replacedBy(resource, writable, kept),
    given: (named) => ({ ...defaultsOf(resource), ...filledAgain(filled, named, caller) }),
  }
}

/** Throws AnswerMissing if the record lacks an attribute of the caller. */
function filledAgain(
  filled: readonly FilledField[],
  named: readonly string[],
  caller: RecordedRequest['caller'],
): Representation {
  const asked = filled.filter(({ field }) => !named.includes(field.name))
  if (!caller) return {}
  const { id, claims } = caller
  const unknown = asked.find(({ attribute }) => attribute !== 'id' && isUnknown(claims, attribute))
  if (unknown) throw new AnswerMissing(`the caller's \`${unknown.attribute}\``)
  return valuesToFill(asked, askingAs({ ...claims, id }, 0).valuesOf)
}

/** A field without a default is null, as in records. */
function defaultsOf({ fields }: Resource): Representation {
  const writable = [...fields.values()].filter(({ readOnly }) => !readOnly)
  return Object.fromEntries(writable.map(({ name, default: value }) => [name, value ?? null]))
}

/** `partly`: the request ended before its body was whole, so the permit wasn't asked for then. */
type PermittedAgain = 'whole' | 'partly' | Refusal

/** Throws FactsMissing. */
export function* permitAgain(
  decision: Decision,
  { method, facts = {} }: DecisionRecord,
  unasked: Unasked,
): Steps<PermittedAgain, FactNeed> {
  switch (decision.kind) {
    case 'create':
      return yield* permitCreate(decision, facts, unasked.given)
    case 'update':
      return method === 'PUT'
        ? yield* permitReplacement(decision, facts, unasked.replacedBy(decision))
        : yield* permitUpdate(decision, facts)
    default:
      return 'whole'
  }
}

function* permitCreate(
  decision: CreateDecision,
  { proposed, named, chosen = [] }: Facts,
  given: Unasked['given'],
): Steps<PermittedAgain, FactNeed> {
  if (!proposed || !named) return 'partly'
  const after = { ...proposed, ...valuesFor(named), ...given(named), ...only(proposed, named) }
  const choosesId = chosen.includes('id')
  return whole(yield* decision.permit({ after, named: new Set(named), choosesId, faults: NO_FAULTS }))
}

function only(fields: Representation, names: readonly string[]): Representation {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)))
}

function* permitUpdate(
  decision: UpdateDecision,
  { proposed, named, changed, read }: Facts,
): Steps<PermittedAgain, FactNeed> {
  if (!named || !proposed || !changed) {
    return (read && decision.checkRead(read, named ?? [])) ?? (named && decision.checkNamed(named)) ?? 'partly'
  }
  const before = represent(decision.object)
  const after = { ...before, ...valuesFor(changed), ...proposed }
  const asked = { named: new Set(named), ...(read ? { read: new Set(read) } : {}), faults: NO_FAULTS }
  const proposal = { after: withoutNulls(after, before, changed), ...asked }
  return whole(yield* decision.permit(proposal))
}

/** A field that a PUT doesn't name is removed if the policy allows writing it, and stays otherwise. */
function* permitReplacement(
  decision: UpdateDecision,
  facts: Facts,
  replaced: readonly string[],
): Steps<PermittedAgain, FactNeed> {
  if (!facts.named) return 'partly'
  if (!facts.removed) throw new FactsMissing("the record doesn't hold which fields PUT would remove")
  const removed = new Set(facts.removed)
  const body = facts.named.filter((field) => !removed.has(field))
  const unread = replaced.filter((field) => !decision.readable.has(field))
  const named = [...new Set([...body, ...unread])]
  const refusal = decision.checkNamed(named)
  if (refusal && !refusal.stepUp) return refusal
  const removedNow = new Set(replaced.filter((field) => !body.includes(field)))
  if (removed.symmetricDifference(removedNow).size > 0) {
    throw new FactsMissing("the record doesn't hold the fields that PUT would remove now, or no longer")
  }
  return yield* permitUpdate(decision, { ...facts, named })
}

/** The record doesn't hold the values, and the schema's faults in them depend on no policy. */
const NO_FAULTS = () => []

function whole(permit: { readonly kind: string } | Refusal): 'whole' | Refusal {
  return isRefusal(permit) ? permit : 'whole'
}

/**
 * A record doesn't distinguish a missing field from null: a field that changed from missing to null, or from null to
 * missing, would look as if it hadn't changed.
 */
function withoutNulls(after: Representation, before: Representation, changed: readonly string[]): Representation {
  const alike = changed.filter((field) => after[field] === null && before[field] === null)
  return Object.fromEntries(Object.entries(after).filter(([field]) => !alike.includes(field)))
}

function valuesFor(fields: readonly string[]): Representation {
  return Object.fromEntries(fields.map((field) => [field, CHANGED]))
}
