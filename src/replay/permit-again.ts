/** The permit that a recorded write would get from a decision: the object as it would become, as far as the record tells. */
import type { DecisionRecord } from '../decision-log/decision-record.ts'
import type { CreateDecision, Decision, UpdateDecision } from '../policy/decision.ts'
import type { Representation } from '../resources/resource.ts'
import { represent } from '../store/contract.ts'
import type { Facts } from '../store/permit.ts'

/** Stands for the new value of a field that changed, where the record doesn't hold the value. */
const CHANGED = '\u0000changed'

/** Throws Denied. `partly`: the request ended before its body was whole, so the permit wasn't asked for then. */
export function permitAgain(decision: Decision, { facts = {} }: DecisionRecord): 'whole' | 'partly' {
  switch (decision.kind) {
    case 'delete':
      decision.permit()
      return 'whole'
    case 'create':
      return permitCreate(decision, facts)
    case 'update':
      return permitUpdate(decision, facts)
    case 'read':
    case 'list':
    case 'route':
      return 'whole'
  }
}

function permitCreate(decision: CreateDecision, { proposed, named }: Facts): 'whole' | 'partly' {
  if (!proposed || !named) return 'partly'
  decision.permit({ after: { ...valuesFor(named), ...proposed }, named: new Set(named), refuseUnfit })
  return 'whole'
}

function permitUpdate(decision: UpdateDecision, { proposed, named, changed, read }: Facts): 'whole' | 'partly' {
  if (read) decision.refuseUnreadable(read)
  if (!named) return 'partly'
  decision.refuseHidden(named)
  if (!proposed || !changed) return 'partly'
  const before = represent(decision.object)
  const after = { ...before, ...valuesFor(changed), ...proposed }
  decision.permit({ after: withoutNulls(after, before, changed), named: new Set(named), refuseUnfit })
  return 'whole'
}

/** The record doesn't hold the values; what the schema says of them depends on no policy. */
function refuseUnfit(): void {}

/** A record tells nothing from null: a field that came to be null, or ceased to be, would look as if it hadn't changed. */
function withoutNulls(after: Representation, before: Representation, changed: readonly string[]): Representation {
  const alike = changed.filter((field) => after[field] === null && before[field] === null)
  return Object.fromEntries(Object.entries(after).filter(([field]) => !alike.includes(field)))
}

function valuesFor(fields: readonly string[]): Representation {
  return Object.fromEntries(fields.map((field) => [field, CHANGED]))
}
