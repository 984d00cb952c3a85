/** The grants of the policy to one caller on one resource; the checks of a decision use them. */
import type { Representation, Resource } from '../../resources/resource.ts'
import { type Facts, recordAttributes } from '../evidence.ts'
import type { Ownership } from '../policy.ts'
import { relationsOf } from '../relations/ownership.ts'
import type { AttributeOf } from '../relations/relation-kind.ts'
import type { GrantTable } from './grant-table.ts'
import type { RoleLevel } from './role-level.ts'

export interface CallerGrants {
  readonly kind: 'grants'
  readonly resource: Resource
  readonly ownership: Ownership | undefined
  readonly attributeOf: AttributeOf
  /** The grants of the requested action. */
  readonly table: GrantTable
  /** The grants of that table that are known before the object is. */
  readonly roleLevel: RoleLevel
  /** The grants of `read`: they decide the fields in the answer to a write. */
  readonly readTable: GrantTable
  /** The fields that the route shows; undefined for all. */
  readonly view: ReadonlySet<string> | undefined
  /** The fields of an object that a decision record keeps. */
  readonly recorded: readonly string[]
  /** The largest document that a write may leave. */
  readonly objectBytes: number
}

/** The relations that hold between the caller and the object. */
export function relate({ ownership, attributeOf }: CallerGrants, object: Representation): readonly string[] {
  return relationsOf(ownership, attributeOf, object)
}

export function attributesOf({ table, readTable, attributeOf }: CallerGrants): Pick<Facts, 'attributes'> {
  return recordAttributes([table, readTable], attributeOf)
}

/** The fields that the route shows, of those that are granted. */
export function inView({ view }: CallerGrants, granted: ReadonlySet<string>): ReadonlySet<string> {
  return view ? granted.intersection(view) : granted
}
