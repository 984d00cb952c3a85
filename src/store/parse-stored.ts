/** Parses stored JSON and checks its form: this program didn't write JSON of another form. */

import { isObject } from '../base/is-object.ts'
import type { Document } from '../resources/object.ts'
import type { Json } from '../resources/resource.ts'
import { DamagedObject } from './errors.ts'

/** Throws DamagedObject, whose message names the data as `what`. */
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

/** The name of a damaged object in messages. */
export function documentNamed(id: string): string {
  return `the stored document of \`${id}\``
}
