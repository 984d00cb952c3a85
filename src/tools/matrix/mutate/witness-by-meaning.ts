/**
 * Requests that show another meaning of a relation or a condition: they are asked about an object that has the relation
 * as it was and not as it is now, or the other way round. A condition with another meaning counts as another one.
 */
import { compareConditions } from '../../../analysis/diff/compare-meanings.ts'
import type { Policy } from '../../../decide/policy.ts'
import { meaningOf } from '../../../decide/relations/all-kinds.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { requestTelling } from '../arrange/telling-request.ts'
import { credentialOf } from '../predict/arrange-cell.ts'
import type { Cell } from '../predict/arrange-world.ts'
import type { Predictor } from '../predict/predict-cell.ts'
import type { Tries } from './tries.ts'
import { differing, type Pair, type Witness } from './witness.ts'

/** Undefined if no answer differs. */
export async function findByMeaning(
  predictor: Predictor,
  pair: Pair,
  cells: Iterable<Cell>,
  tries: Tries,
): Promise<Witness | undefined> {
  const [before, after] = [pair.before.policy, pair.after.policy]
  const conditions = changedConditions(before, after, predictor.now)
  const relations = new Map([...before.ownership.keys()].map((name) => [name, bothMeanings(before, after, name)]))
  if (conditions.length === 0 && [...relations.values()].every((some) => some.length === 0)) return undefined
  for (const cell of cells) {
    if (!tries.count(cell)) return undefined
    const resource = predictor.routes.get(cell.path)?.resource ?? ''
    const witness =
      (await byConditions(predictor, pair, cell, conditions)) ??
      (await byRelations(predictor, pair, cell, relations.get(resource) ?? []))
    if (witness) return witness
  }
  return undefined
}

async function byConditions(
  predictor: Predictor,
  pair: Pair,
  cell: Cell,
  changed: readonly ChangedCondition[],
): Promise<Witness | undefined> {
  const request = changed.length === 0 ? undefined : requestOf(predictor, pair.before.policy, cell)
  for (const { name, telling } of request ? changed : []) {
    const expected = request && (await differing(predictor, pair, sentLike(request, telling, predictor.now)))
    if (expected) return { kind: 'fields', cell, expected, meaning: name, telling }
  }
  return undefined
}

async function byRelations(
  predictor: Predictor,
  pair: Pair,
  cell: Cell,
  changed: readonly BothMeanings[],
): Promise<Witness | undefined> {
  for (const { policy, name, second } of changed) {
    const object = inOneMeaning(cell.object, name, second)
    const request = object && requestOf(predictor, policy, { ...cell, object })
    const expected = request && (await differing(predictor, pair, request))
    if (expected) return { kind: 'fields', cell, expected, meaning: name }
  }
  return undefined
}

/** A condition with another meaning, and a request that meets it in one meaning only. */
interface ChangedCondition {
  readonly name: string
  readonly telling: ConditionFacts
}

/** Without those for which no such request was found: both meanings may be the same. */
function changedConditions(before: Policy, after: Policy, now: number): readonly ChangedCondition[] {
  return compareConditions({ before, after }).flatMap(({ name }) => {
    const [one, other] = [before, after].map(({ conditions }) => conditions.get(name))
    const telling = one && other && requestTelling([one, other], now)
    return telling ? [{ name, telling }] : []
  })
}

/** The same request, sent in the way that tells both meanings apart. */
function sentLike(request: Request, { hasCredentials: _, now, ...told }: ConditionFacts, usual: number): Request {
  const { caller, facts } = request
  return {
    ...request,
    facts: { ...facts, ...told, ...(now !== usual && { now }) },
    caller: caller && { ...caller, ...credentialOf({ ...caller, credential: facts.credential, ...told }) },
  }
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
    const relations = new Map([...old.relations, [second, { ...changed, name: second }]])
    const ownership = new Map([...before.ownership, [resource, { ...old, relations }]])
    return [{ policy: { ...before, ownership }, name, second }]
  })
}

/** An object that has the relation in one meaning only. */
function inOneMeaning(object: Cell['object'], name: string, second: string): Cell['object'] | undefined {
  if (object.kind !== 'relations' && object.kind !== 'other') return undefined
  const held = object.kind === 'relations' ? object.names : []
  return { kind: 'relations', names: held.includes(name) ? held : [...held, second] }
}

type Request = NonNullable<ReturnType<typeof requestOf>>

function requestOf({ arrange, routeMethods }: Predictor, policy: Policy, cell: Cell) {
  const arranged = arrange(policy, cell)
  const routeMethod = routeMethods.get(`${cell.method} ${cell.path}`)
  if (arranged.kind !== 'arranged' || !routeMethod) return undefined
  return { ...arranged.request, routeMethod, conditional: !cell.unconditional }
}
