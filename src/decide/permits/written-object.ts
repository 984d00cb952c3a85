/** The object that a permit's write leaves in the store. */
import type { StoredObject } from '../../resources/object.ts'
import type { Permit } from './permit.ts'

/** The object that a create writes. */
export function createdObject({ id, document }: Permit<'create'>, time: string): StoredObject {
  return { id, version: 1, createdAt: time, updatedAt: time, document }
}

/** The object after an update. */
export function updatedObject(
  { id, version, document }: Permit<'update'>,
  { createdAt }: Pick<StoredObject, 'createdAt'>,
  time: string,
): StoredObject {
  return { id, version: version + 1, createdAt, updatedAt: time, document }
}
