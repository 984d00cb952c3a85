/** Stored objects as a list finds them, and back. */

import { represent, type StoredObject } from '../src/resources/object.ts'
import type { Representation } from '../src/resources/resource.ts'
import type { ListedObject } from '../src/store/contract.ts'

export function listedOf({ id, createdAt, updatedAt, document }: StoredObject): ListedObject {
  return { id, createdAt, updatedAt, text: JSON.stringify(document) }
}

export function representListed({ text, ...object }: ListedObject): Representation {
  return represent({ ...object, document: JSON.parse(text) })
}
