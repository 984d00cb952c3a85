/** Some values that fit, and how values inside others are found. */
import type { Json } from '../resource.ts'
import type { RootedSchema } from './parts.ts'

/** `complete`: no other value fits. */
export interface Taken<T> {
  readonly values: readonly T[]
  readonly complete: boolean
}

export type TakenValues = Taken<Json>

export const NOTHING: TakenValues = { values: [], complete: true }
export const UNKNOWN: TakenValues = { values: [], complete: false }

export function isNothing({ values, complete }: TakenValues): boolean {
  return complete && values.length === 0
}

/** More items or members than this are not written into an example. */
export const MOST_INSIDE = 10_000

export interface Taking {
  /** How many different values are wanted. */
  readonly count: number
  /** Values of a schema inside. */
  readonly take: (schemas: readonly RootedSchema[], count: number) => TakenValues
}
