/** Who may write objects of a path, under which relations, and by which rules: what the checks that compare writing and reading ask. */
import type { Policy } from '../../../decide/policy.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'
import type { Area, Group } from './action-rules.ts'
import type { RuleMap } from './rule-index.ts'

/** A write and the read of the same path, as one caller has them. */
export interface Pair {
  readonly write: Area
  readonly read: Area
  readonly path: string
}

interface Writer {
  readonly subject: string
  /** The rules that grant the write. */
  readonly group: Group
  /** Sets of relations, the smallest first, for which they do, and no deny takes all of it. It is long work. */
  readonly relations: () => readonly bigint[]
}

/** Combinations of relations that are tried for one rule grow as 2 to this number of different reasons not to read. */
const MOST_DENIES = 8

/** Every write that stands beside a read on some path; the first such path. */
export function pairsOf({ name, routes }: Resource, map: RuleMap, operations: readonly Operation[]): readonly Pair[] {
  const pairs = routes.flatMap(({ path, endpoints }) => {
    const read = map.area(name, endpoints.get('GET')?.action ?? '')
    const writes = [...endpoints.values()].filter(({ operation }) => operations.includes(operation))
    return writes.flatMap(({ action }) => {
      const write = map.area(name, action)
      return read && write ? [{ write, read, path }] : []
    })
  })
  const alike = Map.groupBy(pairs, ({ write, read }) => `${write.action.name} ${read.action.name}`)
  return [...alike.values()].flatMap((some) => some.slice(0, 1))
}

/** For the rules' own subjects first, then for those that inherit them. */
export function* writersOf(
  pair: Pair,
  { policy, map }: { readonly policy: Policy; readonly map: RuleMap },
): IterableIterator<Writer> {
  const granting = [...pair.write.subjects('allow')]
  const heirs = ['anonymous', ...policy.roles.keys(), ...pair.read.subjects('deny')].flatMap((subject) =>
    [...map.subjectsOf(subject)].filter((name) => name !== subject).map((name) => [subject, name] as const),
  )
  for (const [subject, name] of [...granting.map((own) => [own, own] as const), ...heirs]) {
    for (const group of pair.write.groups('allow', name)) {
      yield { subject, group, relations: () => relationsOf(pair, group, map.subjectsOf(subject)) }
    }
  }
}

/** Fewer relations only help the write, and hinder the read; more of them matter only where they deny the read. */
function relationsOf({ write, read }: Pair, group: Group, subjects: ReadonlySet<string>): readonly bigint[] {
  const denies = new Set([...subjects].flatMap((subject) => [...read.groups('deny', subject)].map((g) => g.relations)))
  const sets = [group.relations]
  for (const deny of [...denies].slice(0, MOST_DENIES)) sets.push(...sets.map((set) => set | deny))
  return sets.filter((set) => (group.fields & ~write.named('deny', subjects, set)) !== 0n)
}
