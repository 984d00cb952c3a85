/**
 * The rules of a policy by columns. Threads can transfer the columns without a copy; a hundred thousand rules take
 * three megabytes, and the garbage collector has nothing to traverse. LivingRules makes rules from the columns
 * again, of those in force at a time.
 */
import type { Policy, Rule, Term } from '../policy.ts'
import type { RuleIndex } from '../snapshot.ts'

/** The different cells, each once, and for each rule the number of its cell. */
interface DistinctColumn<T> {
  readonly values: readonly T[]
  readonly at: Uint32Array<ArrayBuffer>
}

interface RuleTable {
  /** The subjects that rules name, each once, in order of UTF-16 code units, joined into one text. */
  readonly subjects: string
  /** Where each subject begins in `subjects`, and where the last one ends. */
  readonly subjectAt: Uint32Array<ArrayBuffer>
  /** Rules are in order of subject, then of line: the start of each subject's rules, and the end of the last ones. */
  readonly ruleAt: Uint32Array<ArrayBuffer>
  readonly lines: Uint32Array<ArrayBuffer>
  readonly resources: DistinctColumn<string>
  readonly actions: DistinctColumn<readonly string[]>
  readonly befores: DistinctColumn<readonly Term[]>
  readonly afters: DistinctColumn<readonly Term[] | undefined>
  readonly views: DistinctColumn<readonly string[]>
  readonly effects: DistinctColumn<Rule['effect']>
  /** Milliseconds since the epoch; infinite for a rule without end. */
  readonly untils: Float64Array<ArrayBuffer>
  /** The moments at which rules end, each once, in order. */
  readonly ends: readonly number[]
}

/** A policy to decide by. */
export interface PackedPolicy extends Omit<Policy, 'rules'> {
  readonly table: RuleTable
}

export function packPolicy({ rules, ...rest }: Policy): PackedPolicy {
  return { ...rest, table: tableOf(rules) }
}

/** The parts of a packed policy that threads can transfer without a copy. */
export function buffersOf({ table }: PackedPolicy): ArrayBuffer[] {
  const { subjectAt, ruleAt, lines, resources, actions, befores, afters, views, effects, untils } = table
  const columns = [resources, actions, befores, afters, views, effects].map(({ at }) => at)
  return [subjectAt, ruleAt, lines, untils, ...columns].map(({ buffer }) => buffer)
}

function tableOf(rules: readonly Rule[]): RuleTable {
  const bySubject = Map.groupBy(rules, ({ subject }) => subject)
  const subjects = [...bySubject.keys()].sort()
  const sorted = subjects.flatMap((subject) => bySubject.get(subject) ?? [])
  const shared = <T>(cell: (rule: Rule) => T) => columnOf(sorted, cell)
  return {
    subjects: subjects.join(''),
    subjectAt: sums(subjects.map(({ length }) => length)),
    ruleAt: sums(subjects.map((subject) => bySubject.get(subject)?.length ?? 0)),
    lines: Uint32Array.from(sorted, ({ line }) => line),
    resources: shared(({ resource }) => resource),
    actions: shared(({ actions }) => actions),
    befores: shared(({ before }) => before),
    afters: shared(({ after }) => after),
    views: shared(({ views }) => views),
    effects: shared(({ effect }) => effect),
    untils: Float64Array.from(sorted, ({ until }) => until ?? Number.POSITIVE_INFINITY),
    ends: endsOf(rules),
  }
}

function columnOf<T>(rules: readonly Rule[], cell: (rule: Rule) => T): DistinctColumn<T> {
  const values: T[] = []
  // Lists are compared by identity: rules with equal cells share one list (parse-rules.ts).
  const places = new Map<T, number>()
  const at = new Uint32Array(rules.length)
  let last = { value: undefined as T | undefined, place: -1 }
  for (const [i, rule] of rules.entries()) {
    const value = cell(rule)
    // Most rules have the value of the rule before; then the map isn't asked.
    if (value !== last.value || i === 0) {
      last = { value, place: places.getOrInsertComputed(value, () => values.push(value) - 1) }
    }
    at[i] = last.place
  }
  return { values, at }
}

/** 0, then the sum up to each. */
function sums(lengths: readonly number[]): Uint32Array<ArrayBuffer> {
  const all = new Uint32Array(lengths.length + 1)
  for (const [i, length] of lengths.entries()) all[i + 1] = (all[i] ?? 0) + length
  return all
}

// The rules of a table that are in force at a time: the index of a snapshot. It creates rule objects only for the rules
// that are asked for.

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

function cellOf<T>({ values, at }: DistinctColumn<T>, i: number): T {
  return values[at[i] ?? 0] as T
}

// Rules with an end. A rule has ended from the millisecond that its `until=` names.

/** `now` in milliseconds since the epoch. */
export function lives({ until }: { readonly until?: number | undefined }, now: number): boolean {
  return until === undefined || now < until
}

/** The policy without the rules that have ended; the same object if none has ended. */
export function livingAt(policy: Policy, now: number): Policy {
  return policy.rules.every((rule) => lives(rule, now))
    ? policy
    : { ...policy, rules: policy.rules.filter((rule) => lives(rule, now)) }
}

/** The moments at which some of these rules end, each once, in order. */
export function endsOf(rules: Iterable<{ readonly until?: number | undefined }>): readonly number[] {
  const ends = [...rules].flatMap(({ until }) => (until === undefined ? [] : [until]))
  return [...new Set(ends)].sort((a, b) => a - b)
}
