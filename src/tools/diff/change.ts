/** What can differ between two policies: types only. A difference is told as data and as a sentence (sentences.ts). */
import type { Phrase } from '../../present/phrase.ts'

/**
 * Whether more or less is possible afterwards. `either`: that depends on objects or callers which the policy doesn't
 * know. `neutral`: nothing that a request could meet.
 */
export type Direction = 'widening' | 'narrowing' | 'either' | 'neutral'

/** When all of `with` and none of `without` hold; both empty for `any`. Relation names. */
export interface Term {
  readonly with: readonly string[]
  readonly without: readonly string[]
}

/** The sets of relations for which something changed: one of `when`; `besides` was granted before and still is. */
export interface Scope {
  readonly when: readonly Term[]
  readonly besides: readonly Term[]
}

/**
 * What changed of it. `action`: whether it is allowed; `fields`: only which fields it is about; `role level`: only
 * whether it is refused before any object is looked for, since no object can relate to a caller so. `query`: of a list,
 * only by which of the fields that it shows it may be filtered and sorted.
 */
export type Part = 'action' | 'fields' | 'role level' | 'query'

/** Somebody may do what they could not, or the other way round. */
export interface DecisionChange {
  readonly kind: 'decision'
  /** Subjects, alone or two together; the first is who the sentence is about. */
  readonly callers: readonly (readonly string[])[]
  /** Where `everyone` is the first caller: the subjects for whom nothing changes. */
  readonly unchanged: readonly string[]
  readonly effect: 'gains' | 'loses'
  readonly part: Part
  readonly resources: readonly string[]
  readonly actions: readonly string[]
  /** Undefined for all that the action has. */
  readonly fields: readonly string[] | undefined
  /** Undefined where it differs by the second subject: as far as that one grants it. */
  readonly scope: Scope | undefined
  /** The moment from which on it is so, because a rule ends; absent for what is so at once. Milliseconds since the epoch. */
  readonly from?: number
  /** The moment from which on it is so no more; absent for what stays. */
  readonly until?: number
}

type Setting = string | number | boolean | readonly string[] | null

/** Anything else that the files set. `before` and `after` are as a person would write them; null: not there. */
export interface SettingChange {
  readonly kind:
    | 'relation'
    | 'owner'
    | 'conceal'
    | 'route-view'
    | 'role'
    | 'privileged'
    | 'role-claims'
    | 'limit'
    | 'limit-role'
    | 'body-size'
    | 'object-size'
    | 'answer-size'
    | 'page-size'
    | 'blocked'
    | 'mask'
  readonly direction: Direction
  /** Of the relation, route, role, limit or user; for others what it is. */
  readonly name: string
  /** Where it belongs to one. */
  readonly resource?: string
  readonly before: Setting
  readonly after: Setting
  readonly sentence: Phrase
}

export type Change = DecisionChange | SettingChange

export function directionOf(change: Change): Direction {
  if (change.kind !== 'decision') return change.direction
  return change.effect === 'gains' ? 'widening' : 'narrowing'
}
