/** The rules of one effect and subject with the same relation column, about one action on one resource. */
import type { Rule } from '../policy.ts'
import type { Region } from '../relations/regions.ts'
import type { Extent, PlacedRule } from './extents.ts'

export class RuleGroup implements Extent {
  readonly column: string
  readonly region: Region
  readonly #all: PlacedRule[] = []
  readonly #removed: ReadonlySet<Rule>
  #rules: readonly PlacedRule[] = this.#all
  /** Fields that at least one of the rules names. */
  #fields = 0n
  /** Fields that at least two of them name. */
  #shared = 0n
  /** Rules were added, removed or restored since these were computed. */
  #stale = true

  /** `removed`: rules that don't count at present. */
  constructor(column: string, region: Region, removed: ReadonlySet<Rule>) {
    this.column = column
    this.region = region
    this.#removed = removed
  }

  get fields(): bigint {
    this.#refresh()
    return this.#fields
  }

  get rules(): readonly PlacedRule[] {
    this.#refresh()
    return this.#rules
  }

  /** The group without one of its rules. */
  without({ fields }: PlacedRule): Extent {
    this.#refresh()
    return { region: this.region, fields: (this.#fields & ~fields) | this.#shared }
  }

  add(placed: PlacedRule): void {
    this.#all.push(placed)
    this.#stale = true
  }

  /** One of its rules was removed or restored. */
  changed(): void {
    this.#stale = true
  }

  /** Once for all changes: one by one, ten thousand would take a minute. */
  #refresh(): void {
    if (!this.#stale) return
    this.#stale = false
    this.#fields = 0n
    this.#shared = 0n
    this.#rules = this.#removed.size === 0 ? this.#all : this.#all.filter(({ rule }) => !this.#removed.has(rule))
    for (const { fields } of this.#rules) {
      this.#shared |= this.#fields & fields
      this.#fields |= fields
    }
  }
}
