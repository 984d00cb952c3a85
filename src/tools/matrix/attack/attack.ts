/** What an attack is: a request that one caller may make, made by another, or with another's ids in it. Types only. */
import type { Spot } from '../../../decide/space.ts'
import type { Column } from '../read/expectation.ts'
import type { Exchange } from '../run/result.ts'

/** Where the victim's ids are put. */
export type Vector = 'id in path' | 'owner in body' | 'id in body' | 'owner in query' | 'id in query'

export interface Attack {
  readonly vector: Vector
  readonly spot: Spot
  /** Whose object it is, and who may make the request. */
  readonly victim: Extract<Column, { kind: 'roles' }>
  readonly attacker: Exclude<Column, { kind: 'user' }>
  /** How the victim relates to the object. */
  readonly relations: readonly string[]
}

/** `same`: as the policy says; `different`: a finding; `impossible`: it could not be tried, which proves nothing. */
export interface Reached {
  readonly attack: Attack
  readonly outcome: 'same' | 'different' | 'impossible'
  /** What the policy says. */
  readonly predicted?: number
  readonly status?: number
  /** One sentence, where it isn't the same. */
  readonly why?: string
  /** Of what is different. */
  readonly exchange?: Exchange
}
