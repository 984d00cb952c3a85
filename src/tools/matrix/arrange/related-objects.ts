/**
 * The other objects on which an object's relations rest: parents, members, and the objects that those rest on. Where a
 * relation must not hold, such an object exists too if it can, and lacks the relation.
 */

import { possibleSets } from '../../../analysis/possible-sets.ts'
import { fieldValues } from '../../../decide/conditions/condition.ts'
import { USERS } from '../../../decide/policy.ts'
import { comparedFields, leavesOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import { type Around, type ArrangeObject, leavesIn, type PlacedObject, type WantedObject } from './wanted-object.ts'

/** Ids in the form of the server's, which differ from this one in their last digits. */
export function idSeries(id: string): () => string {
  let count = 0x1000
  return () => `${id.slice(0, -4)}${(count++).toString(16).padStart(4, '0')}`
}

/** How many sets of relations are tried for one other object. */
const MOST_SETS_TRIED = 8

/**
 * Undefined if they can't be made; it isn't checked whether they make other relations hold. `arrange` makes each of
 * them, with the objects that it rests on in turn.
 */
export function placeRelated(
  wanted: WantedObject,
  object: Representation,
  arrange: ArrangeObject,
): readonly PlacedObject[] | undefined {
  const { ownership, resource, around } = wanted
  const groups = groupsOf(leavesIn(ownership))
  if (groups.length === 0) return []
  if (!around) return undefined
  let made: readonly PlacedObject[] = []
  for (const group of groups) {
    const placed = [...around.placed, { resource: resource.name, object }, ...made]
    const more = placeGroup({ ...wanted, arrange, around: { ...around, placed } }, object, group)
    if (!more) return undefined
    made = [...made, ...more]
  }
  return made
}

/** Relations that look at the same other objects. */
interface Group {
  /** The field of the object itself, and the field of the others that has its value. */
  readonly field: string
  readonly by: string
  readonly resource: string
  readonly leaves: readonly Relation[]
}

function groupsOf(leaves: readonly Relation[]): readonly Group[] {
  const resting = leaves.flatMap((leaf) => {
    const step = stepOf(leaf)
    const [field] = comparedFields(leaf)
    return step && field !== undefined ? [{ leaf, field, by: step.by, resource: step.resource }] : []
  })
  return [...Map.groupBy(resting, ({ field, by, resource }) => JSON.stringify([field, by, resource])).values()].flatMap(
    (some) => (some[0] ? [{ ...some[0], leaves: some.map(({ leaf }) => leaf) }] : []),
  )
}

type Asked = WantedObject & { readonly around: Around; readonly arrange: ArrangeObject }

/** The relations that an object must and must not have. */
interface Demand {
  readonly must: readonly Relation[]
  readonly mustNot: readonly Relation[]
}

function placeGroup(asked: Asked, object: Representation, group: Group): readonly PlacedObject[] | undefined {
  const { relations, around } = asked
  const { field, by, resource: name, leaves } = group
  const resource = around.resources.byName.get(name)
  const values = fieldValues(object, field).filter((value) => typeof value === 'string')
  const targets = (held: boolean) =>
    leaves.filter((leaf) => relations.has(leaf.name) === held).flatMap((leaf) => stepOf(leaf)?.relation ?? [])
  const [must, mustNot] = [targets(true), targets(false)]
  if (!resource || values.length === 0) return must.length === 0 ? [] : undefined
  // All relations through one object, or each through its own.
  const ways = must.length > 1 ? [[must], must.map((one) => [one])] : [[must]]
  for (const way of ways) {
    const demands = by === 'id' ? values.map((_, i) => way[i] ?? []) : way
    if (demands.length < way.length) continue
    const made = placeEach(
      asked,
      resource,
      demands.map((one) => ({ must: one, mustNot })),
      (i) => (by === 'id' ? { id: values[i] ?? '' } : { id: around.newId(), by, value: values[0] ?? '' }),
    )
    if (made) return made
  }
  return must.length > 0 && by === 'id' ? placeChain(asked, resource, group, values[0] ?? '') : undefined
}

/**
 * For a relation that may need several steps: the objects of a chain. The last one has all relations that must hold.
 * No object of the chain has a relation that must not hold at its distance.
 */
function placeChain(asked: Asked, resource: Resource, group: Group, id: string): readonly PlacedObject[] | undefined {
  const { relations, around } = asked
  const steps = group.leaves.flatMap((leaf) => {
    const step = stepOf(leaf)
    return step ? [{ relation: step.relation, depth: step.depth ?? 1, held: relations.has(leaf.name) }] : []
  })
  const targets = (held: boolean, depth: number) =>
    steps.filter((one) => one.held === held && one.depth >= depth).map(({ relation }) => relation)
  const furthest = Math.min(...steps.filter(({ held }) => held).map(({ depth }) => depth))
  for (let length = 2; length <= furthest; length++) {
    const ids = [id, ...Array.from({ length: length - 1 }, () => around.newId())]
    const demands = ids.map((_, i) => ({
      must: i === length - 1 ? targets(true, 1) : [],
      mustNot: targets(false, i + 1),
    }))
    const made = placeEach(asked, resource, demands, (i) => {
      const next = ids[i + 1]
      return { id: ids[i] ?? '', ...(next === undefined ? {} : { by: group.field, value: next }) }
    })
    if (made && made.length >= length) return made
  }
  return undefined
}

/** The id of another object, or a field of it that names this one. */
interface Naming {
  readonly id: string
  readonly by?: string
  readonly value?: string
}

function placeEach(
  asked: Asked,
  resource: Resource,
  demands: readonly Demand[],
  namingOf: (nth: number) => Naming,
): readonly PlacedObject[] | undefined {
  let made: readonly PlacedObject[] = []
  for (const [i, demand] of demands.entries()) {
    const naming = namingOf(i)
    const placed = [...asked.around.placed, ...made]
    const isThere = placed.some((one) => one.resource === resource.name && one.object.id === naming.id)
    if (isThere) continue
    const more = makeOther({ ...asked, around: { ...asked.around, placed } }, resource, demand, naming)
    // Without it, no relation through it holds.
    if (!more && demand.must.length > 0) return undefined
    made = [...made, ...(more ?? [])]
  }
  return made
}

function makeOther(
  { attributes, now, somebody, around, arrange }: Asked,
  resource: Resource,
  { must, mustNot }: Demand,
  { id, by, value = '' }: Naming,
): readonly PlacedObject[] | undefined {
  const samples = around.samplesOf.get(resource.name)
  if (!samples) return undefined
  const named = [...must, ...mustNot].flatMap((one) => [one, ...leavesOf(one)])
  const relations = new Map(named.map((one) => [one.name, one]))
  const isFit = (set: ReadonlySet<string>) =>
    must.every(({ name }) => set.has(name)) && !mustNot.some(({ name }) => set.has(name))
  const own = resource.name === USERS && id === attributes.id ? Object.entries(attributes) : []
  const list = by !== undefined && resource.fields.get(by)?.list
  const fixed = new Map<string, Json>([
    ...own,
    ...(by === undefined ? [] : [[by, list ? [value] : value] as const]),
  ] as [string, Json][])
  const common = {
    resource,
    samples,
    attributes,
    now,
    id,
    around,
    fixed,
    ...(somebody === undefined ? {} : { somebody }),
  }
  const ownership = { conceal: false, relations }
  for (const set of possibleSets([...relations.values()], resource)
    .filter(isFit)
    .slice(0, MOST_SETS_TRIED)) {
    const found = arrange({ ...common, ownership, relations: set })
    if (found.kind === 'object') return [{ resource: resource.name, object: found.object }, ...found.others]
  }
  return undefined
}
