/** Sets a cell up on a stage: the caller, an object that relates to them as stated, and the request's path and body. */
import { randomUUID } from 'node:crypto'
import type { Json, Representation } from '../../resources/resource.ts'
import type { Bound, Ground } from '../bind.ts'
import { relationSetsThatCanHold } from '../predict/relation-sets.ts'
import { makeCaller, type Named } from './set-up-caller.ts'
import { isOwn, makeObject } from './set-up-object.ts'
import { CannotSetUp, type Stage } from './stage.ts'
import { withUniqueValues } from './unique.ts'

/** An object that was put there, and whether the caller is its owner. */
interface Placed {
  readonly object: Representation
  readonly own: boolean
}

export interface Scene {
  readonly caller: Named | undefined
  /** The path, with an id in the place of `{id}`. */
  readonly path: string
  /** That id, percent-encoded; undefined where the path has none. */
  readonly id: string | undefined
  readonly body: Json | undefined
  /** What was put there for this cell. */
  readonly placed: readonly Placed[]
}

/** More ways to relate than this are more than a list has to be told apart by. */
const MOST_LISTED = 16

/** Throws CannotSetUp. */
export async function setUp(ground: Ground, stage: Stage, bound: Bound): Promise<Scene> {
  const { caller, record } = await makeCaller(ground, stage, bound)
  const { object } = bound.expectation
  const names = object.kind === 'relations' ? object.names : []
  const wantsObject = object.kind === 'other' || object.kind === 'relations'
  const placed = wantsObject
    ? [await makeObject(ground, stage, { bound, caller, record, relations: new Set(names) })]
    : await makeListed(ground, stage, { bound, caller, record })
  const id = encodeURIComponent(wantsObject ? String(placed[0]?.id) : randomUUID())
  return {
    caller,
    path: bound.route.path.replace('{id}', () => id),
    id: bound.route.kind === 'item' ? id : undefined,
    body: bodyOf(ground, bound),
    placed: placed.map((one) => ({ object: one, own: isOwn(ground, bound, caller, one) })),
  }
}

interface Listing {
  readonly bound: Bound
  readonly caller: Named | undefined
  readonly record: Representation | undefined
}

/** One object for each way in which this caller can relate to one, where the cell looks into a list. */
async function makeListed(ground: Ground, stage: Stage, listing: Listing): Promise<readonly Representation[]> {
  const { expectation, endpoint, resource } = listing.bound
  const { view, list } = expectation.expected
  if (endpoint?.operation !== 'list' || (view === undefined && list === undefined)) return []
  const sets = relationSetsThatCanHold(ground.policy, resource).slice(0, MOST_LISTED)
  const made = await Promise.all(
    sets.map((relations) =>
      makeObject(ground, stage, { ...listing, relations }).catch((error) => {
        if (error instanceof CannotSetUp) return error
        throw error
      }),
    ),
  )
  const objects = new Map(made.flatMap((one) => (one instanceof CannotSetUp ? [] : [[one.id, one] as const])))
  const failed = made.find((one) => one instanceof CannotSetUp)
  if (objects.size === 0) throw failed ?? new CannotSetUp(`no object of ${resource.name} can be made`)
  return [...objects.values()]
}

/** The smallest valid body leaves out the owner, whom the server fills in. */
function bodyOf({ policy, samples }: Ground, { expectation, resource, body }: Bound): Json | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(expectation.method)) return undefined
  if (body !== undefined) return body
  const owner = policy.ownership.get(resource.name)?.relations.get('owner')
  const smallest = Object.entries(samples.get(resource.name)?.smallest ?? {}).filter(([name]) => name !== owner?.field)
  return withUniqueValues(resource, Object.fromEntries(smallest), new Set())
}
