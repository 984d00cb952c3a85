/**
 * Requests that show another meaning of a relation or a condition: they are asked about an object that has the relation
 * as it was and not as it is now, or the other way round. A condition with another meaning counts as another one.
 */
import { isDeepStrictEqual } from 'node:util'
import { compareConditions } from '../../../analysis/diff/compare-meanings.ts'
import type { Ownership, Policy } from '../../../decide/policy.ts'
import { meaningOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { requestTelling } from '../arrange/telling-request.ts'
import { type EvaluatedPolicy, type PredictedRequest, predict } from '../predict/answer.ts'
import type { Cell } from '../predict/arrange-world.ts'
import type { Predictor } from '../predict/predict-cell.ts'
import type { Tries } from './tries.ts'
import { type Pair, seenIn, type Witness } from './witness.ts'

/** Undefined if no answer differs. */
export function findByMeaning(
  predictor: Predictor,
  pair: Pair,
  cells: Iterable<Cell>,
  tries: Tries,
): Witness | undefined {
  const [before, after] = [pair.before.policy, pair.after.policy]
  const conditions = changedConditions(pair, predictor.now)
  const relations = new Map([...before.ownership.keys()].map((name) => [name, bothMeanings(before, after, name)]))
  if (conditions.length === 0 && [...relations.values()].every((some) => some.length === 0)) return undefined
  for (const cell of cells) {
    if (!tries.count(cell)) return undefined
    const resource = predictor.routes.get(cell.path)?.resource ?? ''
    const witness =
      byConditions(predictor, pair, cell, conditions) ??
      byRelations(predictor, pair, cell, relations.get(resource) ?? [])
    if (witness) return witness
  }
  return undefined
}

/** A condition with another meaning, and a request that shows it. */
interface ChangedCondition {
  readonly name: string
  readonly request: ConditionFacts
}

/** Without those for which no such request was found: both meanings may be the same. */
function changedConditions({ before, after }: Pair, now: number): readonly ChangedCondition[] {
  const policies = { before: before.policy, after: after.policy }
  return compareConditions(policies).flatMap(({ name }) => {
    const [one, other] = [before, after].map(({ policy }) => policy.conditions.get(name))
    const request = one && other && requestTelling([one, other], now)
    return request ? [{ name, request }] : []
  })
}

/** A policy in which one changed relation stands a second time, under another name, as it is now. */
interface BothMeanings {
  readonly policy: Policy
  readonly name: string
  readonly second: string
}

function bothMeanings(before: Policy, after: Policy, resource: string): readonly BothMeanings[] {
  const [old, now] = [before, after].map(({ ownership }) => ownership.get(resource))
  return [...(old?.relations ?? [])].flatMap(([name, relation]) => {
    const changed = now?.relations.get(name)
    if (!old || !changed || meaningOf(changed) === meaningOf(relation)) return []
    const second = `${name} as it is now`
    const ownership = new Map([...before.ownership, [resource, withSecond(old, { ...changed, name: second })]])
    return [{ policy: { ...before, ownership }, name, second }]
  })
}

function withSecond(owned: Ownership, relation: Relation): Ownership {
  return { ...owned, relations: new Map([...owned.relations, [relation.name, relation]]) }
}

/** The object has the relation in one meaning only. */
function byRelations(
  predictor: Predictor,
  pair: Pair,
  cell: Cell,
  changed: readonly BothMeanings[],
): Witness | undefined {
  if (cell.object.kind !== 'relations' && cell.object.kind !== 'other') return undefined
  const held = cell.object.kind === 'relations' ? cell.object.names : []
  for (const { policy, name, second } of changed) {
    const names = held.includes(name) ? held : [...held, second]
    const object = names.length === 0 ? ({ kind: 'other' } as const) : ({ kind: 'relations', names } as const)
    const request = requestOf(predictor, policy, { ...cell, object })
    const expected = request && differing(request, pair, request)
    if (expected) return { kind: 'fields', cell, expected, meaning: name }
  }
  return undefined
}

/** The request meets the condition in one meaning only. */
function byConditions(
  predictor: Predictor,
  pair: Pair,
  cell: Cell,
  changed: readonly ChangedCondition[],
): Witness | undefined {
  if (changed.length === 0) return undefined
  const request = requestOf(predictor, pair.before.policy, cell)
  for (const { name, request: telling } of request ? changed : []) {
    const when = cell.when ?? []
    const holding = when.includes(name) ? when.filter((one) => one !== name) : [...when, name]
    const expected = request && differing(request, pair, { ...request, holding })
    if (expected) return { kind: 'fields', cell, expected, meaning: name, telling }
  }
  return undefined
}

type Request = Omit<PredictedRequest, 'evaluated'>

function requestOf({ arrange, routeMethods, now }: Predictor, policy: Policy, cell: Cell): Request | undefined {
  const arranged = arrange(policy, cell)
  const routeMethod = routeMethods.get(`${cell.method} ${cell.path}`)
  if (arranged.kind !== 'arranged' || !routeMethod) return undefined
  return { ...arranged.request, routeMethod, conditional: !cell.unconditional, now }
}

/** The answer before the change, if the one after it differs. */
function differing(request: Request, { before, after }: Pair, changed: Request) {
  const given = (one: Request, evaluated: EvaluatedPolicy) => {
    const asked = { ...one, evaluated }
    return { answer: predict(asked), request: asked }
  }
  const expected = given(request, before)
  if (isDeepStrictEqual(seenIn(expected), seenIn(given(changed, after)))) return undefined
  return { status: expected.answer.status }
}
