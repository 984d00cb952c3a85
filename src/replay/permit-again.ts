/** The permit that a recorded write would get from a decision: the object as it would become, as far as the record tells. */
import type { DecisionRecord } from '../decision-log/decision-record.ts'
import type { CreateDecision, Decision, UpdateDecision } from '../policy/decision.ts'
import type { Proposal } from '../policy/permits.ts'
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
  decision.permit(proposal(valuesFor(named), proposed, named))
  return 'whole'
}

function permitUpdate(decision: UpdateDecision, { proposed, named, changed, read }: Facts): 'whole' | 'partly' {
  if (read) decision.refuseUnreadable(read)
  if (!named) return 'partly'
  decision.refuseHidden(named)
  if (!proposed || !changed) return 'partly'
  const before = represent(decision.object)
  decision.permit(proposal({ ...before, ...valuesFor(changed) }, proposed, named))
  return 'whole'
}

function proposal(written: Representation, proposed: Representation, named: readonly string[]): Proposal {
  return { after: { ...written, ...proposed }, named: new Set(named) }
}

function valuesFor(fields: readonly string[]): Representation {
  return Object.fromEntries(fields.map((field) => [field, CHANGED]))
}
