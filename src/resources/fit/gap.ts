/** A place where a value may fit the old schema and not the new one, and what a search for such places shares. */
import type { Path } from '../../base/json-pointer.ts'
import type { Json } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import type { Budget, RootedSchema, SchemaPart } from './parts.ts'
import { take } from './samples.ts'
import type { Values } from './taken.ts'

export interface Gap {
  /** From the compared value to the faulty one; `*` for any item, and for any member without a declared name. */
  readonly path: readonly string[]
  /** The keyword of the new schema that values may break; `additionalProperties` for a name that it doesn't accept. */
  readonly keyword: string
  /** Whole values that fit the old schema and not the new one. Empty if it is unknown whether there are any. */
  readonly examples: readonly Example[]
  /** The values of an old `enum` that the new schema doesn't accept. */
  readonly lost?: readonly Json[]
}

export interface Example {
  readonly value: Json
  /** Where the fault is in this value. */
  readonly at: Path
}

export interface Comparing {
  /** Its parts hold all together. */
  readonly old: readonly RootedSchema[]
  readonly parts: readonly SchemaPart[]
  readonly budget: Budget
  /** The same comparison for other schemas, deeper inside. */
  readonly compare: (old: readonly RootedSchema[], next: RootedSchema) => readonly Gap[]
}

/** More examples of one gap are not carried along: the first ones already stand for it. */
export const MOST_EXAMPLES = 4

/** Values that fit the old schema and these keywords too. */
export function takeWith({ old, budget }: Comparing, schema: JsonObject, count = 1): Values {
  return take([...old, { root: {}, schema }], count, { budget, depth: 0 })
}

/** No gap if surely no value breaks the keyword. */
export function gapFor(keyword: string, breaking: Values, at: readonly string[] = []): readonly Gap[] {
  if (breaking.complete && breaking.values.length === 0) return []
  return [{ path: at, keyword, examples: breaking.values.slice(0, MOST_EXAMPLES).map((value) => ({ value, at })) }]
}

/** The value at the end of a path; undefined if there is none. */
export function valueAtPath(value: Json, at: Path): Json | undefined {
  return at.reduce<Json | undefined>((one, key) => (one as Readonly<Record<string, Json>> | undefined)?.[key], value)
}
