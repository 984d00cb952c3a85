/** Sets a cell up on a target: the caller, an object that relates to them as stated, and the request's path and body. */
import { randomUUID } from 'node:crypto'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { lackingValue } from '../arrange/samples.ts'
import { withUniqueValues } from '../arrange/unique-values.ts'
import type { Suite } from '../predict/suite.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import type { Bound } from './bind.ts'
import { planSetup, type SetupPlan } from './plan-setup.ts'
import { makeCaller, type Named } from './set-up-caller.ts'
import { isOwn, makeObject } from './set-up-object.ts'

/** An object that was put there, and whether the caller is its owner. */
interface Placed {
  readonly object: Representation
  readonly own: boolean
}

export interface CellSetup {
  readonly caller: Named | undefined
  /** The path, with an id in the place of `{id}`. */
  readonly path: string
  /** That id, percent-encoded; undefined where the path has none. */
  readonly id: string | undefined
  readonly body: Json | undefined
  /** What was put there for this cell. */
  readonly placed: readonly Placed[]
}

/** Throws CannotSetUp. */
export async function setUpCell(suite: Suite, target: TestTarget, bound: Bound): Promise<CellSetup> {
  const plan = planSetup(suite, bound)
  const { caller, record } = await makeCaller(suite, target, bound, plan)
  const make = (relations: ReadonlySet<string>) => makeObject(suite, target, { bound, caller, record, relations })
  const placed =
    bound.expectation.object.kind === 'none' ? await makeListed(plan, make) : await Promise.all(plan.ways.map(make))
  const id = encodeURIComponent(String(placed[0]?.id ?? randomUUID()))
  return {
    caller,
    path: bound.route.path.replace('{id}', () => id),
    id: bound.route.kind === 'item' ? id : undefined,
    body: bodyOf(suite, bound),
    placed: placed.map((one) => ({ object: one, own: isOwn(suite, bound, caller, one) })),
  }
}

/** A caller who was there before may have other attributes, and a deployment other ids: then fewer objects have to do. */
async function makeListed(
  { ways }: SetupPlan,
  make: (relations: ReadonlySet<string>) => Promise<Representation>,
): Promise<readonly Representation[]> {
  const made = await Promise.all(
    ways.map((relations) =>
      make(relations).catch((error) => {
        if (error instanceof CannotSetUp) return error
        throw error
      }),
    ),
  )
  const objects = new Map(made.flatMap((one) => (one instanceof CannotSetUp ? [] : [[one.id, one] as const])))
  const failed = made.find((one) => one instanceof CannotSetUp)
  if (objects.size === 0 && failed) throw failed
  return [...objects.values()]
}

/** The smallest valid body leaves out the owner, which the server fills in. Throws CannotSetUp where there is none. */
function bodyOf({ policy, samples }: Suite, { expectation, resource, body }: Bound): Json | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(expectation.method)) return undefined
  if (body !== undefined) return body
  const known = samples.get(resource.name)
  const lacking = known && lackingValue(resource.name, known)
  if (lacking !== undefined) throw new CannotSetUp(lacking)
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))
  const smallest = Object.entries(known?.smallest ?? {}).filter(([name]) => name !== owner?.name)
  return withUniqueValues(resource, Object.fromEntries(smallest), new Set())
}
