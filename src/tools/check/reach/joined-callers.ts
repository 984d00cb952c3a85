/** Callers that differ by what some rules say about them: with one subject, or with several. */

import type { ActionRules } from '../../../analysis/action-rules.ts'
import { type ActionRulesIndex, canBeOneCaller } from '../../../analysis/rule-index.ts'
import type { Rule } from '../../../decide/policy.ts'

export interface JoinedCaller {
  /** None that another one inherits. */
  readonly names: readonly string[]
  readonly subjects: ReadonlySet<string>
}

/** More callers of one subject than this take longer than a person would wait. */
const MOST_CALLERS = 256

const EFFECTS: readonly Rule['effect'][] = ['allow', 'deny']

export class JoinedCallers {
  readonly #about: readonly ActionRules[]
  readonly #index: ActionRulesIndex
  /** A bit for each thing that rules say, and those of the subjects of a profile. */
  readonly #bits = new Map<string, bigint>()
  readonly #rows = new Map<string, bigint>()
  #areAll = true

  constructor(about: readonly ActionRules[], index: ActionRulesIndex) {
    this.#about = about
    this.#index = index
  }

  /** Whether no caller was left out. */
  get areAll(): boolean {
    return this.#areAll
  }

  /** Equal for subjects about which the rules say the same, and who can have the same other subjects. */
  likenessOf(subject: string): string {
    return this.#keyOf([subject])
  }

  /** One of each that are alike. */
  distinct(subjects: Iterable<string>): ReadonlySet<string> {
    return new Set([...Map.groupBy(subjects, (name) => this.likenessOf(name)).values()].flatMap(([one]) => one ?? []))
  }

  /** The callers who have this subject, and perhaps some of the others: those with the fewest subjects come first. */
  *of(subject: string, others: Iterable<string>): Iterable<JoinedCaller> {
    const mine = this.#index.subjectsOf(subject)
    const further = [...others].filter((name) => !mine.has(name))
    const seen = new Set<string>()
    for (let callers: Iterable<readonly string[]> = [[subject]]; ; ) {
      const kept: (readonly string[])[] = []
      for (const names of callers) {
        const key = this.#keyOf(names)
        if (seen.has(key)) continue
        if (seen.size >= MOST_CALLERS) {
          this.#areAll = false
          return
        }
        seen.add(key)
        kept.push(names)
        yield this.#callerOf(names)
      }
      if (kept.length === 0) return
      callers = joined(kept, further)
    }
  }

  /** The caller, if it were of a subject that is like its first one. */
  renamed({ names }: JoinedCaller, from: string, to: string): JoinedCaller {
    return this.#callerOf(names.map((name) => (name === from ? to : name)))
  }

  #keyOf(names: readonly string[]): string {
    const rows = names.reduce((all, name) => all | this.#rowsOf(name), 0n)
    return `${[...new Set(names.map(kindOfSubject))].toSorted().join()} ${rows.toString(36)}`
  }

  #callerOf(names: readonly string[]): JoinedCaller {
    const told = names.filter(
      (name) => !names.some((other) => other !== name && this.#index.subjectsOf(other).has(name)),
    )
    const subjects = names.reduce<ReadonlySet<string>>((all, one) => all.union(this.#index.subjectsOf(one)), new Set())
    return { names: told, subjects }
  }

  /** What the rules say about a subject: each rule's effect, fields and region, with its position in `about`. */
  #rowsOf(subject: string): bigint {
    return this.#rows.getOrInsertComputed(this.#index.profileOf(subject), () => {
      const subjects = this.#index.subjectsOf(subject)
      const rows = this.#about.flatMap((rules, i) =>
        EFFECTS.flatMap((effect) =>
          rules.extents(effect, subjects).map(({ fields, region }) => `${i} ${effect} ${fields} ${region}`),
        ),
      )
      return rows.reduce(
        (mask, row) => mask | this.#bits.getOrInsertComputed(row, () => 1n << BigInt(this.#bits.size)),
        0n,
      )
    })
  }
}

function* joined(callers: readonly (readonly string[])[], further: readonly string[]): Iterable<readonly string[]> {
  for (const names of callers) {
    const later = further.slice(1 + further.indexOf(names.at(-1) ?? ''))
    for (const name of later) if (names.every((one) => canBeOneCaller(one, name))) yield [...names, name]
  }
}

/** What decides with which other subjects it can be one caller. */
function kindOfSubject(subject: string): string {
  if (subject === 'anonymous' || subject === 'everyone') return subject
  return subject.startsWith('user:') ? 'user' : 'role'
}
