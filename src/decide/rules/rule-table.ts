/**
 * The rules of a policy by columns. Threads can transfer the columns without a copy; a hundred thousand rules take
 * three megabytes, and the garbage collector has nothing to traverse. unexpired-rules.ts makes rules from the columns
 * again.
 */

import type { Policy, Rule, Term } from '../policy.ts'
import { endsOf } from './rule-expiry.ts'

/** The different cells, each once, and for each rule the number of its cell. */
export interface Column<T> {
  readonly values: readonly T[]
  readonly at: Uint32Array<ArrayBuffer>
}

export interface RuleTable {
  /** The subjects that rules name, each once, in order of UTF-16 code units, joined into one text. */
  readonly subjects: string
  /** Where each subject begins in `subjects`, and where the last one ends. */
  readonly subjectAt: Uint32Array<ArrayBuffer>
  /** Rules are in order of subject, then of line: the start of each subject's rules, and the end of the last ones. */
  readonly ruleAt: Uint32Array<ArrayBuffer>
  readonly lines: Uint32Array<ArrayBuffer>
  readonly resources: Column<string>
  readonly actions: Column<readonly string[]>
  readonly befores: Column<readonly Term[]>
  readonly afters: Column<readonly Term[] | undefined>
  readonly views: Column<readonly string[]>
  readonly effects: Column<Rule['effect']>
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

function columnOf<T>(rules: readonly Rule[], cell: (rule: Rule) => T): Column<T> {
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
