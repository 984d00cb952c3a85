/** A stored object as a list finds it. */
import type { ListedObject, StoredObject } from '../src/store/contract.ts'

export function listedOf({ id, createdAt, updatedAt, document }: StoredObject): ListedObject {
  return { id, createdAt, updatedAt, text: JSON.stringify(document) }
}
