/**
 * Groups differences, because there may be hundreds of thousands: equal ones for the same roles, action and relations
 * become one group.
 */

import { CHANGES, type Difference } from '../../analysis/replay/compare.ts'
import type { Again } from '../../analysis/replay/decide-again.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'

/** Requests whose answers would differ in the same way. */
export interface ReplayGroup extends Difference {
  readonly method: string
  readonly route: string
  readonly resource: string
  readonly action: string
  /** Sorted; empty for a caller without roles. Undefined without credentials. */
  readonly roles: readonly string[] | undefined
  readonly relations: readonly string[]
  readonly count: number
  /** Request ids of the first few requests. */
  readonly examples: readonly string[]
}

export interface Totals {
  readonly decided: number
  readonly same: number
  /** Requests that no policy decided. */
  readonly unconcerned: number
  /** By reason. */
  readonly undecidable: ReadonlyMap<string, number>
}

type CountedGroup = { -readonly [K in keyof ReplayGroup]: ReplayGroup[K] } & { examples: string[] }

export class Tally {
  readonly #maxExamples: number
  readonly #groups = new Map<string, CountedGroup>()
  readonly #undecidable = new Map<string, number>()
  #decided = 0
  #different = 0
  #unconcerned = 0

  /** `maxExamples`: how many request ids a group keeps. */
  constructor(maxExamples: number) {
    this.#maxExamples = maxExamples
  }

  /** `difference` is undefined if the answer would be the same, or nothing was decided. */
  add(record: DecisionRecord, again: Again, difference: Difference | undefined): void {
    if (again.kind === 'unconcerned') this.#unconcerned += 1
    else if (again.kind === 'undecidable') this.#undecidable.set(again.why, (this.#undecidable.get(again.why) ?? 0) + 1)
    else this.#decided += 1
    if (!difference) return
    this.#different += 1
    this.#count(record, difference)
  }

  get totals(): Totals {
    return {
      decided: this.#decided,
      same: this.#decided - this.#different,
      unconcerned: this.#unconcerned,
      undecidable: this.#undecidable,
    }
  }

  /** Requests that are refused now come first; within a kind of change, the largest group comes first. */
  get groups(): readonly ReplayGroup[] {
    const rank = ({ change }: ReplayGroup) => CHANGES.indexOf(change)
    return [...this.#groups.values()].toSorted((a, b) => rank(a) - rank(b) || b.count - a.count)
  }

  #count(record: DecisionRecord, difference: Difference): void {
    const about = aboutOf(record)
    const key = JSON.stringify([about, difference])
    const group = this.#groups.get(key)
    if (!group) {
      this.#groups.set(key, { ...about, ...difference, count: 1, examples: [record.requestId] })
      return
    }
    group.count += 1
    if (group.examples.length < this.#maxExamples) group.examples.push(record.requestId)
  }
}

function aboutOf(
  record: DecisionRecord,
): Pick<ReplayGroup, 'method' | 'route' | 'resource' | 'action' | 'roles' | 'relations'> {
  const { method, route = '', resource = '', action = '', roles, relations = [] } = record
  return { method, route, resource, action, roles: roles?.toSorted(), relations: relations.toSorted() }
}
