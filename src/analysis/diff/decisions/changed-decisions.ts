/**
 * Where two policies decide differently: one action of a resource and one caller at a time. Nothing at all is the proof
 * that no decision differs: the regions hold every set of relations and conditions, and
 * analysis/compare.ts says why two subjects at a time are enough.
 */

import { type DirectPolicy, directPolicy } from '../../../decide/grants/direct.ts'
import type { Policy } from '../../../decide/policy.ts'
import { endsOf, livingAt } from '../../../decide/rules/rule-expiry.ts'
import {
  type ChangedCaller,
  type ComparedCaller,
  callersHere,
  callersOf,
  changedCallers,
  type Sides,
  sidesOf,
  type Topic,
  topicsOf,
  touchedActions,
} from '../../compare.ts'
import { actionsListing, bounded, type Circumstances } from './compare-decisions.ts'
import { changesQueries } from './compare-queries.ts'

/** `changed` is empty if no object shows the difference: only the role level, or what a list may be filtered by. */
export interface ChangedDecision extends ChangedCaller {
  readonly topic: Topic
}

/** The policies are compared at `now`, and whenever a rule ends. Throws Incomparable as `compareDecisions` does. */
export function* changedDecisions(
  policies: Sides<Policy>,
  { resources, now }: Circumstances,
  covers: (resource: string) => boolean,
): Generator<ChangedDecision, undefined> {
  const listing = actionsListing(resources)
  const touched = [...resources.byName.values()]
    .filter(({ name }) => covers(name))
    .map((resource) => [resource, touchedActions(policies, resource)] as const)
  const rules = [...policies.before.rules, ...policies.after.rules]
  for (const from of [now, ...endsOf(rules).filter((end) => end > now)]) {
    const living = sidesOf((side) => livingAt(policies[side], from))
    const callers = callersOf(living)
    const direct = sidesOf((side) => directPolicy(living[side], resources))
    for (const [resource, actions] of touched) {
      const compare = () =>
        [...topicsOf(living, resource, actions)].flatMap((topic) => changedIn(topic, callers, { direct, listing }))
      yield* bounded(compare, { living, resource })
    }
  }
  return undefined
}

interface Asked {
  readonly direct: Sides<DirectPolicy>
  readonly listing: ReadonlySet<string>
}

function changedIn(
  topic: Topic,
  callers: readonly ComparedCaller[],
  { direct, listing }: Asked,
): readonly ChangedDecision[] {
  const here = callersHere(topic, callers)
  const found = [...changedCallers(topic, here)].map((one) => ({ ...one, topic }))
  if (found.length > 0 || !listing.has(topic.action.name)) return found
  return here
    .filter((caller) => changesQueries(direct, topic, caller))
    .map((caller) => ({ topic, callers: [caller], changed: [] }))
}
