/**
 * The decision about a history (docs/history.md). It is that of any read, about the object as it is now. If that is gone,
 * the same checks are asked about what it was right before its delete, and nobody learns more than from an object that
 * was never there unless every answer allows it.
 */
import { onceKnown } from '../../base/now-or-later.ts'
import { subsets } from '../../base/subsets.ts'
import { instantOf } from '../../base/time.ts'
import type { Lookup } from '../../decide/conditions/condition.ts'
import type { Decision, ReadDecision } from '../../decide/decision.ts'
import { type FactSource, type Steps, withFacts } from '../../decide/facts.ts'
import type { Ownership } from '../../decide/policy.ts'
import type { Refusal } from '../../decide/refusal.ts'
import { kindOf, leavesOf, stepsIn } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import type { Route } from '../../resources/resource.ts'
import { endOf, type ObjectChange, type ReadChanges } from '../../store/changes.ts'

/** Nothing older is shown, even if it isn't deleted yet. */
export function keptSince({ history }: Route, at: number): string {
  return new Date(at - (history?.keepMs ?? 0)).toISOString()
}

interface HistoryAsked {
  readonly route: Route
  readonly query: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly ownership: Ownership | undefined
}

/** `steps`: the checks of the request, from their beginning. */
export function decideHistory(
  steps: () => Steps<Decision | Refusal>,
  facts: FactSource,
  changes: ReadChanges,
  asked: HistoryAsked,
): Decision | Refusal | Promise<Decision | Refusal> {
  // A later stage refuses a query with faults.
  const time = instantOf(new URLSearchParams(asked.query).get('at') ?? '')
  const since = keptSince(asked.route, asked.at)
  let end: ObjectChange | undefined
  const object: FactSource['object'] = (resource, id) =>
    onceKnown(facts.object(resource, id), (now) => {
      if (now && time === undefined) return now
      return endOf(changes, { resource, id }, now, { time, since }).then((found) => {
        end = found
        return found ? found.before : now
      })
    })
  const looked = new Map<Relation, LookedUp>()
  const lookup: FactSource['lookup'] = (one, relation) =>
    onceKnown(facts.lookup(one, relation), (holds) => {
      looked.set(relation, { lookup: one, holds })
      return holds
    })
  return onceKnown(withFacts(steps(), { ...facts, object, lookup }), (first) => {
    if (!end) return first
    // As if only a later object had had the id, or none.
    const otherwise = () =>
      time === undefined ? withFacts(steps(), facts) : decideHistory(steps, facts, changes, { ...asked, query: '' })
    return onceKnown(certain(steps, facts, { first, end, looked }, asked), (decision) => decision ?? otherwise())
  })
}

interface LookedUp {
  readonly lookup: Lookup
  readonly holds: boolean
}

interface DecidedOnEnd {
  readonly first: Decision | Refusal
  readonly end: ObjectChange
  readonly looked: ReadonlyMap<Relation, LookedUp>
}

/** Each doubles the number of decisions. */
const MOST_UNKNOWN = 6

/** The decision if all unknown relations, held or not, lead to a permit; undefined otherwise. */
async function certain(
  steps: () => Steps<Decision | Refusal>,
  facts: FactSource,
  { first, end, looked }: DecidedOnEnd,
  { ownership }: HistoryAsked,
): Promise<ReadDecision | undefined> {
  if (first.kind !== 'read' || !end.before || comparesErased(ownership, end.erased)) return undefined
  const unknown: Relation[] = []
  for (const [relation, { lookup, holds }] of looked)
    if (!holds && !(await isSureNo(facts, lookup, relation))) unknown.push(relation)
  if (unknown.length > MOST_UNKNOWN) return undefined
  let { shown } = first
  for (const assumed of subsets(unknown)) {
    const decision = await withFacts(steps(), {
      ...facts,
      object: () => end.before,
      lookup: (_, relation) => looked.get(relation)?.holds === true || assumed.includes(relation),
    })
    if (decision.kind !== 'read') return undefined
    shown = shown.intersection(decision.shown)
  }
  return { ...first, shown, evidence: { ...first.evidence, facts: { ...first.evidence.facts, shown: [...shown] } } }
}

/** An erased field isn't an empty one: a deny that compared it would no longer match. */
function comparesErased(ownership: Ownership | undefined, erased: readonly string[] = []): boolean {
  const leaves = [...(ownership?.relations.values() ?? [])].flatMap(leavesOf)
  return (
    erased.length > 0 &&
    leaves.some((leaf) =>
      kindOf(leaf)
        .fields(leaf)
        .some((field) => erased.includes(field)),
    )
  )
}

/**
 * That an object is found is certain, because a relation rests on objects that are there, and on none that is absent. That
 * none is found may be due to the same delete, unless the objects that are named are all there and decide by themselves.
 */
async function isSureNo(facts: FactSource, { resource, by, values, climb }: Lookup, relation: Relation) {
  if (by !== 'id' || climb || stepsIn(relation).length > 1) return false
  for (const value of values) {
    const isThere = await facts.lookup({ resource, by, values: [value], where: { kind: 'always' } }, relation)
    if (!isThere) return false
  }
  return true
}
