/** JSON that the store holds, as far as its form goes: what isn't of it was not written by this program. */

import type { Document } from '../resources/object.ts'
import type { Json } from '../resources/resource.ts'
import { isObject } from '../resources/schema/subschemas.ts'
import { DamagedObject } from './contract.ts'

/** Throws DamagedObject, which calls it `what`. */
export function parseStored(text: string, what: () => string): Document {
  let parsed: Json
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new DamagedObject(what())
  }
  if (isObject(parsed)) return parsed
  throw new DamagedObject(what())
}

/** How an object is called that isn't what it should be. */
export function documentNamed(id: string): string {
  return `the stored document of \`${id}\``
}
