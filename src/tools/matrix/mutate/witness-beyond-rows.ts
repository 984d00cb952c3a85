/**
 * Requests that a row of a matrix doesn't send as it stands: a write that also names a field whose grant differs, or that
 * moves an object to another parent of the same kind, and the question of a gateway.
 */
import { isDeepStrictEqual } from 'node:util'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { arrangeRelated } from '../arrange/arrange-related.ts'
import { idSeries } from '../arrange/related-objects.ts'
import type { PlacedObject } from '../arrange/wanted-object.ts'
import type { ArrangedRequest } from '../predict/arrange-cell.ts'
import { type Cell, relatingOf } from '../predict/arrange-world.ts'
import type { Objects } from '../predict/memory-store.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import type { Aim } from './aims.ts'
import type { Tries } from './tries.ts'
import { differing, isGood, type Pair, type Witness, witnessIn } from './witness.ts'

type Suite = Pick<PredictedSuite, 'predictor' | 'samples' | 'resources'>

/** The first that a row with a body shows, if there is one. */
export async function findBeyondRows(
  suite: Suite,
  pair: Pair,
  aims: readonly Aim[],
  tries: Tries,
): Promise<Witness | undefined> {
  let untold: Witness | undefined
  for (const aim of aims) {
    for await (const witness of aim.routeMethod.route.gateway
      ? byGateway(suite, pair, aim, tries)
      : byBodies(suite, pair, aim, tries)) {
      if (isGood(witness)) return witness
      untold ??= witness
    }
  }
  return untold
}

async function* byGateway(
  { predictor }: Suite,
  pair: Pair,
  { cell, routeMethod }: Aim,
  tries: Tries,
): AsyncGenerator<Witness> {
  const arranged = predictor.arrange(pair.before.policy, cell)
  if (arranged.kind !== 'arranged' || !tries.count(cell)) return
  const expected = await differing(predictor, pair, { ...arranged.request, routeMethod, provesGateway: true })
  if (expected) yield { kind: 'fields', cell, expected, asksFor: routeMethod.route.gateway?.name ?? '' }
}

type Body = Readonly<Record<string, Json>>

/** A value of a field, and the objects that it names. */
interface Named {
  readonly field: string
  readonly value: Json
  readonly placed: readonly PlacedObject[]
}

const WITH_BODY: ReadonlySet<string> = new Set(['create', 'replace', 'update'])

async function* byBodies(suite: Suite, pair: Pair, aim: Aim, tries: Tries): AsyncGenerator<Witness> {
  const { cell, routeMethod } = aim
  if (!WITH_BODY.has(routeMethod.endpoint.operation) || routeMethod.resource.builtIn) return
  const arranged = suite.predictor.arrange(pair.before.policy, cell)
  if (arranged.kind !== 'arranged') return
  const { request } = arranged
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
  readonly request: ArrangedRequest
  readonly content: Body
  readonly placed: readonly PlacedObject[]
}

/** A row with this body, if it shows the difference too. */
async function byBody(
  { predictor }: Suite,
  pair: Pair,
  { aim, request, content, placed }: Sent,
): Promise<Witness | undefined> {
  const { becomes: _, ...asked } = aim.cell
  const objects = withPlaced(request.objects, placed)
  const sent = { ...request, routeMethod: aim.routeMethod, conditional: true, objects, body: content }
  const expected = await differing(predictor, pair, sent)
  if (!expected) return undefined
  const row = placed.length > 0 ? undefined : await witnessIn(predictor, pair, { ...asked, content })
  return row?.kind === 'cell' ? row : { kind: 'fields', cell: { ...aim.cell, content }, expected }
}

/** What else the body says: what the row leaves; else the smallest body, and nothing. A PATCH needs nothing else. */
function bodiesAround({ becomes }: Cell, { endpoint }: RouteMethod, arranged: Body = {}): readonly Body[] {
  if (becomes) return [arranged]
  return endpoint.operation === 'update' ? [{}] : [arranged, {}]
}

/** How many values are tried for each field, because the stored value may be one of them. */
const VALUES = 6

/** Valid values of the fields, and those of another object to which the caller relates in the same way. */
function namedBy(suite: Suite, pair: Pair, aim: Aim, request: ArrangedRequest): readonly Named[] {
  const { resource } = aim.routeMethod
  const known = suite.samples.get(resource.name)?.values
  const stored = request.objects.get(resource.name)?.get(request.id ?? '')
  const twin = twinOf(suite, pair, aim, request)
  return [...aim.fields]
    .filter((field) => resource.fields.get(field)?.readOnly === false)
    .flatMap((field): readonly Named[] => {
      const values = (known?.get(field) ?? []).slice(0, VALUES).map((value) => ({ field, value, placed: [] }))
      const other = twin?.object[field]
      if (!twin || other === undefined || isDeepStrictEqual(other, stored?.[field])) return values
      return [...values, { field, value: other, placed: twin.others }]
    })
}

/** In the form of the server's ids. */
const TWIN = '01980000-0000-7000-8000-0000000f000a'

function twinOf(suite: Suite, { before }: Pair, { cell, routeMethod }: Aim, { caller }: ArrangedRequest) {
  const { resources, samples, predictor } = suite
  if (cell.object.kind !== 'relations') return undefined
  const { resource } = routeMethod
  const parts = { resources, samples, now: predictor.now, newId: idSeries(TWIN) }
  const relating = relatingOf(parts, { policy: before.policy, resource, column: cell.column })
  if (!relating) return undefined
  const twin = arrangeRelated({ ...relating, relations: new Set(cell.object.names), own: false, id: TWIN })
  if (twin.kind !== 'related') return undefined
  const claims = caller?.claims ?? {}
  const isSameCaller = Object.entries(twin.attributes).every(([name, value]) => isDeepStrictEqual(claims[name], value))
  return isSameCaller ? twin : undefined
}

function withPlaced(objects: Objects, placed: readonly PlacedObject[]): Objects {
  const all = new Map<string, ReadonlyMap<string, Representation>>(objects)
  for (const { resource, object } of placed)
    all.set(resource, new Map([...(all.get(resource) ?? []), [String(object.id), object]]))
  return all
}
