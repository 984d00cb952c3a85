/** Sets a cell up on a target: the caller, an object with the stated relations, and the request's path and body. */
import { randomUUID } from 'node:crypto'
import type { Json, Method, Representation, Resource, Route } from '../../../resources/resource.ts'
import type { Attributes, PlacedObject } from '../arrange/arrange-object.ts'
import { relationsAmong } from '../arrange/arrange-object.ts'
import { lackingValue } from '../arrange/samples.ts'
import { smallestBody } from '../predict/arrange-cell.ts'
import type { Placed } from '../predict/compare-answer.ts'
import type { Suite } from '../predict/suite.ts'
import type { HttpRequest } from '../target/http.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import type { BoundExpectation } from './bind.ts'
import { makeCaller, type Named, planSetup, type SetupPlan } from './set-up-caller.ts'
import { type MadeObject, makeObject, makeResult } from './set-up-object.ts'

export interface CellSetup {
  readonly caller: Named | undefined
  /** The path, with an id instead of `{id}`. */
  readonly path: string
  /** That id, percent-encoded; undefined if the path has none. */
  readonly id: string | undefined
  readonly body: Json | undefined
  /** The objects created for this cell, of its resource. */
  readonly placed: readonly Placed[]
  /** All objects that were made for it: those, and all that relations rest on. */
  readonly world: readonly PlacedObject[]
}

/** `given`: values of the attributes that the caller needs, instead of those that the plan chooses. Throws CannotSetUp. */
export async function setUpCell(
  suite: Suite,
  target: TestTarget,
  bound: BoundExpectation,
  given: Attributes = {},
): Promise<CellSetup> {
  const plan = withAttributes(planSetup(suite, bound, target.now()), given)
  const { caller, record, known } = await makeCaller(suite, target, bound, plan)
  const make = (relations: ReadonlySet<string>) =>
    makeObject(suite, target, { bound, caller, record, known, relations })
  const made =
    bound.expectation.object.kind === 'none' ? await makeListed(plan, make) : await Promise.all(plan.ways.map(make))
  const { becomes } = bound.expectation
  const [stored] = bound.expectation.object.kind === 'none' ? [] : made
  const result = becomes && (await makeResult(suite, target, bound, { becomes, caller, stored, known }))
  const world = [...worldOf(bound, made, known), ...(result?.others ?? [])]
  const placed = bound.expectation.object.kind === 'none' ? listedIn(bound, world) : made.map(({ object }) => object)
  const id = encodeURIComponent(String(made[0]?.object.id ?? randomUUID()))
  const ownership = suite.policy.ownership.get(bound.resource.name)
  const among = { ownership, attributes: caller?.attributes ?? {}, now: target.now(), world }
  return {
    caller,
    path: bound.route.path.replace('{id}', () => id),
    id: bound.route.kind === 'item' ? id : undefined,
    body: result ? result.body : bodyOf(suite, bound),
    placed: placed.map((object) => ({ object, relations: new Set(relationsAmong(among, object)) })),
    world,
  }
}

function withAttributes(plan: SetupPlan, given: Attributes): SetupPlan {
  const names = Object.keys(plan.attributes).filter((name) => Object.hasOwn(given, name))
  const instead = Object.fromEntries(names.map((name): [string, Json] => [name, given[name] as Json]))
  return { ...plan, attributes: { ...plan.attributes, ...(instead as Attributes) } }
}

function worldOf(
  { resource: { name } }: BoundExpectation,
  made: readonly MadeObject[],
  known: readonly PlacedObject[],
): readonly PlacedObject[] {
  return [...known, ...made.flatMap(({ object, others }) => [{ resource: name, object }, ...others])]
}

/** A list also holds the objects that relations rest on, such as the folder above another one. */
function listedIn({ resource }: BoundExpectation, world: readonly PlacedObject[]): readonly Representation[] {
  const objects = world.flatMap((one) => (one.resource === resource.name ? [one.object] : []))
  return [...new Map(objects.map((object) => [object.id, object])).values()]
}

/**
 * An existing caller may have other attributes, and a deployment may give other ids: then the list has fewer objects.
 */
async function makeListed(
  { ways }: SetupPlan,
  make: (relations: ReadonlySet<string>) => Promise<MadeObject>,
): Promise<readonly MadeObject[]> {
  const made = await Promise.all(
    ways.map((relations) =>
      make(relations).catch((error) => {
        if (error instanceof CannotSetUp) return error
        throw error
      }),
    ),
  )
  const objects = new Map(made.flatMap((one) => (one instanceof CannotSetUp ? [] : [[one.object.id, one] as const])))
  const failed = made.find((one) => one instanceof CannotSetUp)
  if (objects.size === 0 && failed) throw failed
  return [...objects.values()]
}

/** The body file that the cell names, else the smallest valid body. Throws CannotSetUp if neither exists. */
function bodyOf(suite: Suite, { expectation, resource, body }: BoundExpectation): Json | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(expectation.method)) return undefined
  if (body !== undefined) return body
  const known = suite.samples.get(resource.name)
  const lacking = known && lackingValue(resource.name, known)
  if (lacking !== undefined) throw new CannotSetUp(lacking)
  return smallestBody(suite, { policy: suite.policy, resource })
}

/** Methods that a precondition guards. */
const GUARDED: readonly Method[] = ['PUT', 'PATCH', 'DELETE']

interface TargetRequest {
  readonly route: Route
  readonly resource: Resource
  readonly method: Method
  /** The id in the path, percent-encoded; undefined for the caller's own record. */
  readonly id: string | undefined
}

/**
 * The current tag, which this caller reads; `*` if the caller may not read the object. Empty if the route requires no
 * precondition. Throws NoAnswer.
 */
export async function ifMatchOf(
  target: TestTarget,
  { route, resource, method, id }: TargetRequest,
  { url, token }: Pick<HttpRequest, 'url' | 'token'>,
): Promise<Readonly<Record<string, string>>> {
  if (route.precondition !== 'required' || !GUARDED.includes(method)) return {}
  const item = resource.canonicalItemPath
  const path = id === undefined || item === undefined ? undefined : item.replace('{id}', () => id)
  const readable = route.endpoints.has('GET') ? url : path && target.url + path
  const answer = readable === undefined ? undefined : await target.ask({ method: 'GET', url: readable, token })
  return { 'if-match': answer?.headers.etag ?? '*' }
}
