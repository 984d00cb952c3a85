/**
 * Requests that a row of a matrix doesn't send as it stands: a write that also names a field whose grant differs, or that
 * moves an object to another parent of the same kind; the question of a gateway; an object with another value of a compared
 * field; and a request that shows another meaning of a relation or a condition. It is asked about an object that has the
 * relation as it was and not as it is now, or the other way round.
 */

import { isDeepStrictEqual } from 'node:util'
import { compareConditions } from '../../../analysis/diff/compare-meanings.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { comparedFields, meaningOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { relatedFixture } from '../fixture/related-fixture.ts'
import { requestTelling } from '../fixture/request-fixture.ts'
import { idSeries } from '../fixture/samples.ts'
import type { PlacedObject } from '../fixture/wanted-object.ts'
import { type Cell, credentialOf, type FixtureRequest, relatingOf } from '../predict/cell-fixture.ts'
import { objectsOf, placedIn } from '../predict/memory-store.ts'
import { type Predictor, requestOfCell } from '../predict/predict-cell.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { heldIn } from '../read/expectation.ts'
import type { Aim } from './aims.ts'
import { differing, type FieldValue, isGood, type Pair, type Tries, type Witness, witnessIn } from './witness.ts'

type SampledSuite = Pick<PredictedSuite, 'predictor' | 'samples' | 'resources'>

/** The first that a row with a body shows, if there is one. */
export async function findBeyondRows(
  suite: SampledSuite,
  pair: Pair,
  aims: readonly Aim[],
  tries: Tries,
): Promise<Witness | undefined> {
  let fallback: Witness | undefined
  for (const aim of aims) {
    for await (const witness of aim.routeMethod.route.gateway
      ? byGateway(suite, pair, aim, tries)
      : byBodies(suite, pair, aim, tries)) {
      if (isGood(witness)) return witness
      fallback ??= witness
    }
  }
  return fallback
}

async function* byGateway(
  { predictor }: SampledSuite,
  pair: Pair,
  { cell, routeMethod }: Aim,
  tries: Tries,
): AsyncGenerator<Witness> {
  const request = requestOfCell(predictor, pair.before.policy, cell)
  if (!request || !tries.count(cell)) return
  const expected = await differing(predictor, pair, { ...request, provesGateway: true })
  if (expected) yield { kind: 'fields', cell, expected, asksFor: routeMethod.route.gateway?.name ?? '' }
}

/** A value of a field, and the objects that it names. */
interface NamedValue {
  readonly field: string
  readonly value: Json
  readonly placed: readonly PlacedObject[]
}

const WITH_BODY: ReadonlySet<string> = new Set(['create', 'replace', 'update'])

async function* byBodies(suite: SampledSuite, pair: Pair, aim: Aim, tries: Tries): AsyncGenerator<Witness> {
  const { cell, routeMethod } = aim
  if (!WITH_BODY.has(routeMethod.endpoint.operation) || routeMethod.resource.builtIn) return
  const request = requestOfCell(suite.predictor, pair.before.policy, cell)
  if (!request) return
  for (const named of namedBy(suite, pair, aim, request)) {
    for (const around of bodiesAround(cell, routeMethod, request.body)) {
      if (!tries.count(cell)) return
      const content = { ...around, [named.field]: named.value }
      const witness = await byBody(suite, pair, { aim, request, content, placed: named.placed })
      if (witness) yield witness
    }
  }
}

interface Sent {
  readonly aim: Aim
  readonly request: Request
  readonly content: Representation
  readonly placed: readonly PlacedObject[]
}

/** A row with this body, if it shows the difference too. */
async function byBody(
  { predictor }: SampledSuite,
  pair: Pair,
  { aim, request, content, placed }: Sent,
): Promise<Witness | undefined> {
  const { becomes: _, ...asked } = aim.cell
  const objects = objectsOf([...placedIn(request.objects), ...placed])
  const sent = { ...request, objects, body: content }
  const expected = await differing(predictor, pair, sent)
  if (!expected) return undefined
  const row = placed.length > 0 ? undefined : await witnessIn(predictor, pair, { ...asked, content })
  return row?.kind === 'cell' ? row : { kind: 'fields', cell: { ...aim.cell, content }, expected }
}

/** What else the body says: what the row leaves; else the smallest body, and nothing. A PATCH needs nothing else. */
function bodiesAround(
  { becomes }: Cell,
  { endpoint }: RouteMethod,
  given: Representation = {},
): readonly Representation[] {
  if (becomes) return [given]
  return endpoint.operation === 'update' ? [{}] : [given, {}]
}

/** How many values are tried for each field, because the stored value may be one of them. */
const VALUES = 6

/** Valid values of the fields, and those of another object to which the caller relates in the same way. */
function namedBy(suite: SampledSuite, pair: Pair, aim: Aim, request: FixtureRequest): readonly NamedValue[] {
  const { resource } = aim.routeMethod
  const known = suite.samples.get(resource.name)?.values
  const stored = request.objects.get(resource.name)?.get(request.id ?? '')
  const twin = twinOf(suite, pair, aim, request)
  return [...aim.fields]
    .filter((field) => resource.fields.get(field)?.readOnly === false)
    .flatMap((field): readonly NamedValue[] => {
      const values = (known?.get(field) ?? []).slice(0, VALUES).map((value) => ({ field, value, placed: [] }))
      const other = twin?.object[field]
      if (!twin || other === undefined || isDeepStrictEqual(other, stored?.[field])) return values
      return [...values, { field, value: other, placed: twin.others }]
    })
}

/** In the form of the server's ids. */
const TWIN = '01980000-0000-7000-8000-0000000f000a'

function twinOf(suite: SampledSuite, { before }: Pair, { cell, routeMethod }: Aim, { caller }: FixtureRequest) {
  const { resources, samples, predictor } = suite
  if (cell.object.kind !== 'relations') return undefined
  const { resource } = routeMethod
  const parts = { resources, samples, now: predictor.now, newId: idSeries(TWIN) }
  const relating = relatingOf(parts, { policy: before.policy, resource, column: cell.column })
  if (!relating) return undefined
  const twin = relatedFixture({ ...relating, relations: new Set(cell.object.names), own: false, id: TWIN })
  if (twin.kind !== 'related') return undefined
  const claims = caller?.claims ?? {}
  const isSameCaller = Object.entries(twin.attributes).every(([name, value]) => isDeepStrictEqual(claims[name], value))
  return isSameCaller ? twin : undefined
}

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
  tries.begin()
  for (const cell of cells) {
    if (!tries.count(cell)) return undefined
    const resource = predictor.routeMethods.get(`${cell.method} ${cell.path}`)?.resource.name ?? ''
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
  const request = changed.length === 0 ? undefined : requestOfCell(predictor, pair.before.policy, cell)
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
    const request = object && requestOfCell(predictor, policy, { ...cell, object })
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
function sentLike(request: Request, { hasCredentials: _, now, ...others }: ConditionFacts, usual: number): Request {
  const { caller, facts } = request
  return {
    ...request,
    facts: { ...facts, ...others, ...(now !== usual && { now }) },
    caller: caller && { ...caller, ...credentialOf({ ...caller, credential: facts.credential, ...others }) },
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
  const held = heldIn(object)
  return { kind: 'relations', names: held.includes(name) ? held : [...held, second] }
}

type Request = NonNullable<ReturnType<typeof requestOfCell>>

const MOST_VALUES = 12

/** Undefined if no relation has another meaning, or no answer differs. */
export async function findByValues(
  suite: SampledSuite,
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
  tries.begin()
  for (const cell of cells) {
    if (tries.isOver) return undefined
    const routeMethod = suite.predictor.routeMethods.get(`${cell.method} ${cell.path}`)
    const fields = routeMethod && changed.get(routeMethod.resource.name)
    const found = fields && fields.size > 0 ? await witnessAmong(suite, pair, { cell, fields, tries }) : undefined
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
  suite: SampledSuite,
  pair: Pair,
  { cell, fields, tries }: { readonly cell: Cell; readonly fields: ReadonlySet<string>; readonly tries: Tries },
): Promise<Witness | undefined> {
  const request = requestOfCell(suite.predictor, pair.before.policy, cell)
  if (!request) return undefined
  const { name } = request.routeMethod.resource
  for (const value of valuesFor(suite, name, request, fields)) {
    if (!tries.count(cell)) return undefined
    const objects = withValue(request, name, value)
    const expected = await differing(suite.predictor, pair, { ...request, objects })
    if (expected) return { kind: 'fields', cell, expected, value }
  }
  return undefined
}

function valuesFor(
  { samples }: SampledSuite,
  resource: string,
  { caller }: FixtureRequest,
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

function withValue({ objects }: FixtureRequest, resource: string, { field, value }: FieldValue) {
  const changed = [...(objects.get(resource) ?? [])].map(([id, object]): readonly [string, Representation] => [
    id,
    { ...object, [field]: value },
  ])
  return new Map([...objects, [resource, new Map(changed)]])
}
