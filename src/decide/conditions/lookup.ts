/** Questions about stored objects: answers from objects in memory (src/store/sqlite/query/ does the same in SQL). */

import type { Representation } from '../../resources/resource.ts'
import { type Condition, has, type LookUp, type Lookup, meets } from './condition.ts'

/** `objectsOf`: all objects of a resource. */
export function lookUpIn(objectsOf: (resource: string) => Iterable<Representation>): LookUp {
  const lookUp: LookUp = (lookup) => {
    return foundBy(lookup, [...objectsOf(lookup.resource)]).some((object) => meets(lookup.where, object, lookUp))
  }
  return lookUp
}

/** Each object once, so that a circle ends. */
function foundBy({ by, values, climb }: Lookup, objects: readonly Representation[]): readonly Representation[] {
  const found = new Set(objects.filter((object) => values.some((value) => has(object, by, value))))
  if (!climb) return [...found]
  let last = [...found]
  for (let step = 1; step < climb.depth && last.length > 0; step += 1) {
    last = objects.filter(({ id }) => typeof id === 'string' && last.some((below) => has(below, climb.field, id)))
    last = last.filter((object) => !found.has(object))
    for (const object of last) found.add(object)
  }
  return [...found]
}

/** Whether the answer may depend on the objects of this resource. */
export function looksAt({ resource, where }: Pick<Lookup, 'resource' | 'where'>, sought: string): boolean {
  return resource === sought || isAbout(where, sought)
}

function isAbout(condition: Condition, sought: string): boolean {
  switch (condition.kind) {
    case 'related':
    case 'climb':
      return looksAt(condition, sought)
    case 'all':
    case 'some':
      return condition.of.some((part) => isAbout(part, sought))
    case 'not':
      return isAbout(condition.of, sought)
    default:
      return false
  }
}
