/**
 * What the references of a write rest on: a field may refer only to an object that the writer may read, and an object that
 * the writer can't read is as good as missing. A reference that stays as it was isn't asked again.
 */
import type { Document } from '../../resources/object.ts'
import type { FieldNames, Resource, Resources } from '../../resources/resource.ts'
import type { Lookup } from '../conditions/condition.ts'
import { passRoleLevel, type Question } from '../decide.ts'
import type { Steps } from '../facts.ts'
import { objectRoute } from '../object-routes.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Permit, ReadSet } from './permit.ts'

/** Who asks, and when. */
export type AskedBy = Pick<Question, 'subject' | 'blocked' | 'now' | 'address'>

export interface ReferenceAsked {
  readonly field: string
  /** Holds if the object is there and may be read; undefined if the caller may read none of its resource. */
  readonly lookup: Lookup | undefined
  readonly caller: ReadSet['caller']
}

export interface WrittenReferences {
  readonly resource: Resource
  readonly resources: Resources
  readonly permit: Permit<'create'> | Permit<'update'>
  /** Undefined for a create. */
  readonly before?: ObjectBefore | undefined
}

interface ObjectBefore {
  readonly document: Document
  readonly named: ReadonlySet<string>
  readonly readable: FieldNames
}

export function* referencesAsked(
  asked: AskedBy,
  policy: Snapshot,
  { resource, resources, permit, before }: WrittenReferences,
): Steps<readonly ReferenceAsked[]> {
  const all: ReferenceAsked[] = []
  for (const { field, reference } of resource.references ?? []) {
    const id = permit.document[field]
    const target = resources.byName.get(reference.resource)
    if (typeof id !== 'string' || !target || (before && stays(field, id, before))) continue
    const route = objectRoute(target, 'read', asked.now)
    const grants = yield* passRoleLevel({ ...asked, ...route, resource: target, id }, policy)
    if (grants.kind !== 'grants') {
      all.push({ field, lookup: undefined, caller: undefined })
      continue
    }
    const { table, asking, conditions, view, reads } = grants
    const where = table.where(asking, conditions.holding, view)
    all.push({ field, lookup: { resource: target.name, by: 'id', values: [id], where }, caller: reads.caller })
  }
  return all
}

/** Of a field that the caller can't read, the answer must not tell whether it already had the value. */
function stays(field: string, id: string, { document, named, readable }: ObjectBefore): boolean {
  return document[field] === id && (!named.has(field) || readable.has(field))
}
