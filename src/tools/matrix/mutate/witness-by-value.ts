/**
 * Requests about objects, with each value of the compared fields in turn. They show relations with a changed meaning.
 */
import type { Policy } from '../../../decide/policy.ts'
import { comparedFields, meaningOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import type { SamplesOf } from '../arrange/values/samples.ts'
import type { ArrangedRequest } from '../predict/arrange-cell.ts'
import type { Cell } from '../predict/arrange-world.ts'
import type { Predictor } from '../predict/predict-cell.ts'
import type { Tries } from './tries.ts'
import { differing, type FieldValue, type Pair, type Witness } from './witness.ts'

interface PredictedSuite {
  readonly predictor: Predictor
  readonly samples: SamplesOf
}

const MOST_VALUES = 12

/** Undefined if no relation has another meaning, or no answer differs. */
export async function findByValues(
  suite: PredictedSuite,
  pair: Pair,
  cells: Iterable<Cell>,
  tries: Tries,
): Promise<Witness | undefined> {
  const changed = new Map(
    [...suite.predictor.resources.byName.keys()].map((name) => [
      name,
      changedFields(pair.before.policy, pair.after.policy, name),
    ]),
  )
  if ([...changed.values()].every((fields) => fields.size === 0)) return undefined
  for (const cell of cells) {
    if (!tries.count(cell)) return undefined
    const routeMethod = suite.predictor.routeMethods.get(`${cell.method} ${cell.path}`)
    const fields = routeMethod && changed.get(routeMethod.resource.name)
    const found = fields && fields.size > 0 ? await witnessAmong(suite, pair, cell, fields) : undefined
    if (found) return found
  }
  return undefined
}

/** The fields compared by relations with a changed meaning. */
function changedFields(before: Policy, after: Policy, resource: string): ReadonlySet<string> {
  const [old, now] = [before, after].map(
    ({ ownership }) => ownership.get(resource)?.relations ?? new Map<string, Relation>(),
  )
  const names = new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])
  const pairs = [...names].map((name) => [old?.get(name), now?.get(name)] as const)
  const different = pairs.filter(([one, other]) => !one || !other || meaningOf(one) !== meaningOf(other))
  return new Set(different.flatMap((both) => both.flatMap((relation) => (relation ? comparedFields(relation) : []))))
}

async function witnessAmong(
  suite: PredictedSuite,
  pair: Pair,
  cell: Cell,
  fields: ReadonlySet<string>,
): Promise<Witness | undefined> {
  const arranged = suite.predictor.arrange(pair.before.policy, cell)
  const routeMethod = suite.predictor.routeMethods.get(`${cell.method} ${cell.path}`)
  if (arranged.kind !== 'arranged' || !routeMethod) return undefined
  const { request } = arranged
  for (const value of valuesFor(suite, routeMethod.resource.name, request, fields)) {
    const objects = withValue(request, routeMethod.resource.name, value)
    const expected = await differing(suite.predictor, pair, { ...request, objects, routeMethod, conditional: true })
    if (expected) return { kind: 'fields', cell, expected, value }
  }
  return undefined
}

function valuesFor(
  { samples }: PredictedSuite,
  resource: string,
  { caller }: ArrangedRequest,
  fields: ReadonlySet<string>,
): readonly FieldValue[] {
  return [...fields]
    .filter((field) => field !== 'id')
    .flatMap((field) => {
      const known = samples.get(resource)?.values.get(field) ?? []
      const values: readonly Json[] = [...(caller ? [caller.id] : []), ...known.slice(0, MOST_VALUES)]
      return values.map((value) => ({ field, value }))
    })
}

function withValue({ objects }: ArrangedRequest, resource: string, { field, value }: FieldValue) {
  const changed = [...(objects.get(resource) ?? [])].map(([id, object]): readonly [string, Representation] => [
    id,
    { ...object, [field]: value },
  ])
  return new Map([...objects, [resource, new Map(changed)]])
}
