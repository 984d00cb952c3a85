/**
 * The rules of a table that are in force at a time: the index of a snapshot. It creates rule objects only for the rules
 * that are asked for.
 */

import type { Rule } from '../policy.ts'
import type { RuleIndex } from '../snapshot.ts'
import { lives } from './rule-expiry.ts'
import type { Column, RuleTable } from './rule-table.ts'

export class LivingRules implements RuleIndex {
  readonly #table: RuleTable
  readonly #now: number
  readonly #subjects: number

  /** `now` in milliseconds since the epoch. */
  constructor(table: RuleTable, now: number) {
    this.#table = table
    this.#now = now
    this.#subjects = table.subjectAt.length - 1
  }

  names(subject: string): boolean {
    return this.#someLives(this.#find(subject))
  }

  get subjects(): readonly string[] {
    const found: string[] = []
    for (let i = 0; i < this.#subjects; i++) if (this.#someLives(i)) found.push(this.#subjectAt(i))
    return found
  }

  about(subjects: readonly string[], resources: readonly string[]): readonly Rule[] {
    const { values } = this.#table.resources
    const words = new Set(resources.map((resource) => values.indexOf(resource)))
    return subjects
      .flatMap((subject) => this.#rulesOf(this.#find(subject), words).map((i) => this.#rule(i, subject)))
      .sort((a, b) => a.line - b.line)
  }

  #someLives(subject: number): boolean {
    const { ruleAt } = this.#table
    for (let i = ruleAt[subject] ?? 0; i < (ruleAt[subject + 1] ?? 0); i++) if (this.#lives(i)) return true
    return false
  }

  /** Their positions in the columns; `words` are positions of resources. */
  #rulesOf(subject: number, words: ReadonlySet<number | undefined>): readonly number[] {
    const { ruleAt, resources } = this.#table
    const found: number[] = []
    for (let i = ruleAt[subject] ?? 0; i < (ruleAt[subject + 1] ?? 0); i++) {
      if (words.has(resources.at[i]) && this.#lives(i)) found.push(i)
    }
    return found
  }

  #lives(i: number): boolean {
    return lives({ until: this.#table.untils[i] }, this.#now)
  }

  #rule(i: number, subject: string): Rule {
    const { lines, resources, actions, befores, afters, views, effects, untils } = this.#table
    const until = untils[i]
    const after = cellOf(afters, i)
    return {
      line: lines[i] ?? 0,
      subject,
      resource: cellOf(resources, i),
      actions: cellOf(actions, i),
      before: cellOf(befores, i),
      ...(after ? { after } : {}),
      views: cellOf(views, i),
      effect: cellOf(effects, i),
      ...(until === undefined || until === Number.POSITIVE_INFINITY ? {} : { until }),
    }
  }

  /** The number of the subject; -1, which has no rules, for a subject that no rule names. */
  #find(subject: string): number {
    let low = 0
    let high = this.#subjects - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const found = this.#subjectAt(middle)
      if (found === subject) return middle
      if (found < subject) low = middle + 1
      else high = middle - 1
    }
    return -1
  }

  #subjectAt(i: number): string {
    const { subjects, subjectAt } = this.#table
    return subjects.slice(subjectAt[i], subjectAt[i + 1])
  }
}

function cellOf<T>({ values, at }: Column<T>, i: number): T {
  return values[at[i] ?? 0] as T
}
