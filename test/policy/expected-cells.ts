/** What the oracle says of a table: of its cells, and of what is known before the object is. */
import { granted, grantedWithoutObject, roleLevel } from './oracle.ts'
import type { World } from './world.ts'

/** What is granted where exactly these relations hold; `options` concerns no object, so none counts. */
export function grantedIn(world: World, action: string, relations: ReadonlySet<string>): ReadonlySet<string> {
  return action === 'options' ? grantedWithoutObject(world, action) : granted(world, action, relations)
}

export function isReachable(world: World, action: string): boolean {
  return action === 'options' ? grantedWithoutObject(world, action).size > 0 : roleLevel(world, action)
}
