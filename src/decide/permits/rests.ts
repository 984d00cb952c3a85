/** Collects the stored facts that a decision asks for, so that a write can ask for them again just before it commits. */
import type { Lookup } from '../conditions/condition.ts'
import type { RestsOn } from './permit.ts'

export class Rests {
  readonly #lookups: RestsOn['lookups'][number][] = []
  readonly #caller: RestsOn['caller']

  /** `caller`: the users record that the decision looked at. */
  constructor(caller: RestsOn['caller']) {
    this.#caller = caller
  }

  add(lookup: Lookup, holds: boolean): void {
    this.#lookups.push({ lookup, holds })
  }

  get all(): RestsOn {
    return { lookups: [...this.#lookups], ...(this.#caller ? { caller: this.#caller } : {}) }
  }
}
