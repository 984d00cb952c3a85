/** The fields that are granted, each with its rows, whichever way the conditions are that are not known. */

import type { Condition } from '../../../decide/conditions/condition.ts'
import { decideFilter, type FilterDecision } from '../../../decide/conditions/filter-decision.ts'
import { isRefusal, type Refusal } from '../../../decide/refusal.ts'
import type { RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import { questionOf } from '../ask.ts'
import type { Asker } from '../asker.ts'
import { type DenialReason, denialReasonOf } from '../denial-reasons.ts'
import type { Evaluation } from '../entities.ts'
import type { AskedRoute } from '../route-asked.ts'
import type { KnownSubject } from '../trust/known-subject.ts'
import { knownConditions, MOST_UNKNOWN_CONDITIONS, nonEmptySubsets } from '../trust/told-conditions.ts'

interface Asked {
  readonly target: AskedRoute
  readonly subject: KnownSubject
  readonly evaluation: Pick<Evaluation, 'action' | 'context'>
}

type Refused = { readonly reason: DenialReason; readonly evidence?: Refusal['evidence'] }

/** Throws what the store throws, and Problem invalid-body for what callers.yaml lets the service tell. */
export async function grantedInEveryCase(asker: Asker, asked: Asked): Promise<FilterDecision | Refused> {
  const { target, subject } = asked
  const known = knownConditions(asker, asked.evaluation, subject)
  const unknown = new Set<string>()
  const decideWith = (assumed: ReadonlySet<string>) => {
    const holding = (condition: RequestCondition) => {
      const told = known(condition)
      if (told === undefined) unknown.add(condition.name)
      return told ?? assumed.has(condition.name)
    }
    const about = { target, subject, evaluation: { resource: {} }, holding }
    return asker.ask(decideFilter(questionOf(asker, about), asker.policy.snapshot))
  }
  const first = await decideWith(new Set())
  const { evidence } = first
  if (unknown.size > MOST_UNKNOWN_CONDITIONS) return { reason: 'condition-unknown', evidence }
  const all = [first]
  for (const assumed of nonEmptySubsets([...unknown])) {
    await asker.turn()
    asker.gone.throwIfAborted()
    all.push(await decideWith(assumed))
  }
  const cases = all.filter((one) => !isRefusal(one))
  if (isRefusal(first)) return { reason: cases.length > 0 ? 'condition-unknown' : denialReasonOf(first), evidence }
  // What a service doesn't tell of a subject is unknown, and may be what a deny asks for.
  if (subject.isTold && first.lacking.length > 0) return { reason: 'attributes-missing', evidence }
  if (cases.length < all.length) return { reason: 'condition-unknown', evidence }
  return cases.length === 1 ? first : { ...first, granted: inAll(cases) }
}

/** The cases have the same groups of fields, in the same order: the views tell them apart, and no condition. */
function inAll(cases: readonly FilterDecision[]): FilterDecision['granted'] {
  const [first, ...others] = cases
  return (first?.granted ?? []).map(({ fields, where }, i) => {
    const also = others.map(({ granted }): Condition => granted[i]?.where ?? { kind: 'never' })
    return { fields, where: { kind: 'all', of: [where, ...also] } }
  })
}
