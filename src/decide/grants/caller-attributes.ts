/** The attributes of a caller that rules compare: read from its users record only if one is needed. */
import type { StoredObject } from '../../resources/object.ts'
import type { Caller } from '../caller.ts'
import type { Steps } from '../facts.ts'
import type { RestsOn } from '../permits/permit.ts'
import type { FilledField } from '../relations/ownership.ts'
import { type Asking, scalarsOf } from '../relations/relation-kind.ts'

interface CallerAttributes {
  readonly asking: Asking
  /** The users record, if it was looked at. */
  readonly record: RestsOn['caller']
}

/**
 * They come from the caller's users record, or else from the token's claims (semantics.md, "Caller"). `now`: the time of
 * the request, in milliseconds since the epoch.
 */
export function* attributesFor(
  caller: Caller | undefined,
  now: number,
  needed: readonly string[],
): Steps<CallerAttributes> {
  if (!caller) return { asking: { valuesOf: () => [], now }, record: undefined }
  const isNeeded = needed.length > 0
  const record = isNeeded ? ((yield { kind: 'caller', id: caller.id }) as StoredObject | undefined) : undefined
  const attributes: Readonly<Record<string, unknown>> = record?.document ?? caller.claims
  const valuesOf = (name: string) => {
    if (name === 'id') return [caller.id]
    return Object.hasOwn(attributes, name) ? scalarsOf(attributes[name]) : []
  }
  return { asking: { valuesOf, now }, record: isNeeded ? { id: caller.id, version: record?.version } : undefined }
}

/** Those that fill fields of a new object, besides the id. */
export function attributesOf(filled: readonly FilledField[]): readonly string[] {
  return filled.map(({ attribute }) => attribute).filter((attribute) => attribute !== 'id')
}
