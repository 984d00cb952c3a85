/** Stored objects as a list finds them, and back. */
import type { StoredObject } from '../src/resources/object.ts'
import type { Representation } from '../src/resources/resource.ts'
import type { ListedObject } from '../src/store/contract.ts'
import { JsonRow } from '../src/store/lists/json-row.ts'
import { MemberCutter } from '../src/store/lists/member-cutter.ts'

const EVERY_FIELD = new MemberCutter({ has: () => true })

export function listedOf({ id, createdAt, updatedAt, document }: StoredObject): ListedObject {
  return new JsonRow(id, createdAt, updatedAt, JSON.stringify(document))
}

export function representListed(row: ListedObject): Representation {
  return JSON.parse(row.json(EVERY_FIELD))
}
