/** Answers questions about stored objects from objects in memory; src/store/sqlite/query/ does the same in SQL. */

import type { Representation } from '../../resources/resource.ts'
import { has, type LookUp, type Lookup, meets } from './condition.ts'

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
