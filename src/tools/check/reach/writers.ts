/**
 * Finds who may write objects of a path, with which relations and through which rules. The checks that compare writing
 * and reading use it.
 */
import type { Policy } from '../../../decide/policy.ts'
import type { ActionRules, RuleGroup } from '../../../decide/rules/action-rules.ts'
import type { ActionRulesIndex } from '../../../decide/rules/rule-index.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'

/** A write and the read of the same path. */
export interface WritePair {
  readonly write: ActionRules
  readonly read: ActionRules
  readonly path: string
}

interface Writer {
  readonly subject: string
  /** The rules that grant the write. */
  readonly group: RuleGroup
  /** The sets of relations with which they grant it despite denies, smallest first. Slow. */
  readonly relations: () => readonly bigint[]
}

/** For one rule, at most `2 ** MOST_DENIES` sets of relations are tried. */
const MOST_DENIES = 8

/** Every write with a read of the same path; each pair of actions once, with its first path. */
export function pairsOf(
  { name, routes }: Resource,
  index: ActionRulesIndex,
  operations: readonly Operation[],
): readonly WritePair[] {
  const pairs = routes.flatMap(({ path, endpoints }) => {
    const read = index.rulesOf(name, endpoints.get('GET')?.action ?? '')
    const writes = [...endpoints.values()].filter(({ operation }) => operations.includes(operation))
    return writes.flatMap(({ action }) => {
      const write = index.rulesOf(name, action)
      return read && write ? [{ write, read, path }] : []
    })
  })
  const alike = Map.groupBy(pairs, ({ write, read }) => `${write.action.name} ${read.action.name}`)
  return [...alike.values()].flatMap((some) => some.slice(0, 1))
}

/** The subjects of the rules first, then the subjects that inherit them. */
export function* writersOf(
  pair: WritePair,
  { policy, index }: { readonly policy: Policy; readonly index: ActionRulesIndex },
): IterableIterator<Writer> {
  const granting = [...pair.write.subjects('allow')]
  const heirs = ['anonymous', ...policy.roles.keys(), ...pair.read.subjects('deny')].flatMap((subject) =>
    [...index.subjectsOf(subject)].filter((name) => name !== subject).map((name) => [subject, name] as const),
  )
  for (const [subject, name] of [...granting.map((own) => [own, own] as const), ...heirs]) {
    for (const group of pair.write.groups('allow', name)) {
      yield { subject, group, relations: () => relationsOf(pair, group, index.subjectsOf(subject)) }
    }
  }
}

/**
 * With fewer relations the write is denied less and the read is allowed less. Further relations matter only if a rule
 * with them denies the read.
 */
function relationsOf({ write, read }: WritePair, group: RuleGroup, subjects: ReadonlySet<string>): readonly bigint[] {
  const denies = new Set([...subjects].flatMap((subject) => [...read.groups('deny', subject)].map((g) => g.relations)))
  const sets = [group.relations]
  for (const deny of [...denies].slice(0, MOST_DENIES)) sets.push(...sets.map((set) => set | deny))
  return sets.filter((set) => (group.fields & ~write.named('deny', subjects, set)) !== 0n)
}
