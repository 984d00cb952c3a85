/** Finds fields of a page of objects that name objects which don't exist. */
import { fieldValues } from '../../../decide/conditions/condition.ts'
import { USERS } from '../../../decide/policy.ts'
import type { Representation, Resource } from '../../../resources/resource.ts'
import type { ObjectReader } from '../../../store/object-reader.ts'
import type { Reason } from './tally.ts'

/** A field that names objects, and the resource of those. */
export interface Followed {
  readonly field: string
  readonly to: Resource
}

export interface Dangling {
  /** The position of the object in the page. */
  readonly at: number
  readonly reason: Reason
}

export async function findDangling(
  reader: ObjectReader,
  followed: readonly Followed[],
  page: readonly (Representation | undefined)[],
): Promise<readonly Dangling[]> {
  const dangling: Dangling[] = []
  for (const { field, to } of followed) {
    const named = page.map((object) => (object ? idsIn(object, field) : []))
    const all = [...new Set(named.flat())]
    if (all.length === 0) continue
    const existing = await reader.existing(to, all)
    const reason = reasonOf(field, to.name)
    for (const [at, ids] of named.entries()) {
      if (ids.some((id) => !existing.has(id))) dangling.push({ at, reason })
    }
  }
  return dangling
}

function idsIn(object: Representation, field: string): readonly string[] {
  return fieldValues(object, field).filter((value) => typeof value === 'string')
}

function reasonOf(field: string, to: string): Reason {
  const message = `\`${field}\` names an object of ${to} that does not exist`
  return { code: to === USERS ? 'user-missing' : 'reference-dangling', pointer: `/${field}`, message }
}
