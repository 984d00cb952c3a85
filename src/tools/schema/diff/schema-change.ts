/** What a change of schemas means, as data and as one sentence: `orders: answers may lack /note`. */
import type { Place } from '../../../base/diagnostic.ts'
import type { Phrase } from '../../../present/phrase.ts'
import type { Json } from '../../../resources/resource.ts'

/** The readers that a change concerns. */
export const CONCERNS = ['clients', 'data', 'policies'] as const
export type Concern = (typeof CONCERNS)[number]

/** `unknown`: it may break something, and the schemas alone don't tell; it counts like `breaking`. */
export type ChangeEffect = 'breaking' | 'unknown' | 'compatible'

export interface SchemaChange extends Place {
  readonly concern: Concern
  readonly effect: ChangeEffect
  readonly code: string
  /** Empty for a finding about policy files. */
  readonly resource: string
  /** From an object to the value; `*` for any item or member. Empty for the object as a whole. */
  readonly pointer: string
  readonly sentence: Phrase
  /** A value that shows it. */
  readonly example?: Json
}

/** Without the place, which the file of the resource gives. */
export type Unplaced = Omit<SchemaChange, keyof Place | 'concern' | 'resource' | 'pointer'> & {
  /** From an object to the value, or undefined for a route, which `route` names. */
  readonly path?: readonly string[]
  readonly route?: string
}

/** What is reported of one change. */
export type CodedChange = readonly [code: string, effect: ChangeEffect, sentence: Phrase]

/** The values of --fail-on, and the concern that each is about. */
const CONCERN_OF: Readonly<Record<string, Concern>> = { breaking: 'clients', data: 'data', policy: 'policies' }

export interface SchemaDiff {
  readonly names: { readonly before: string; readonly after: string }
  readonly changes: readonly SchemaChange[]
  /** Whether the stored objects of each resource fit. */
  readonly data: ReadonlyMap<string, 'fits' | 'may not fit' | 'unknown'>
}

/** Whether a change breaks, or may break, something that one of these values of --fail-on is about. */
export function breaksAny(report: SchemaDiff, failOn: readonly string[]): boolean {
  const counts = breakingCounts(report)
  return failOn.some((one) => counts[CONCERN_OF[one] ?? 'clients'] > 0)
}

/** How many changes break something or may break it. */
export function breakingCounts({ changes }: SchemaDiff): Readonly<Record<Concern, number>> {
  const count = (concern: Concern) => changes.filter((one) => one.concern === concern && isBreaking(one)).length
  return { clients: count('clients'), data: count('data'), policies: count('policies') }
}

export function isBreaking({ effect }: SchemaChange): boolean {
  return effect !== 'compatible'
}
