/**
 * Finds who may write objects of a path, with which relations and through which rules. The checks that compare writing
 * and reading use it.
 */
import type { Policy } from '../../../decide/policy.ts'
import { NOWHERE, type Region } from '../../../decide/relations/regions.ts'
import type { ActionRules, RuleGroup } from '../../../decide/rules/action-rules.ts'
import type { Extent } from '../../../decide/rules/extents.ts'
import type { ActionRulesIndex } from '../../../decide/rules/rule-index.ts'
import { decisionsOf } from '../../../decide/rules/rule-space.ts'
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
  /** What they grant despite denies: for a write that changes an object, some result of it. */
  readonly granted: () => readonly Extent[]
}

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
  { write, read }: WritePair,
  { policy, index }: { readonly policy: Policy; readonly index: ActionRulesIndex },
): IterableIterator<Writer> {
  const granting = [...write.subjects('allow')]
  const heirs = ['anonymous', ...policy.roles.keys(), ...read.subjects('deny')].flatMap((subject) =>
    [...index.subjectsOf(subject)].filter((name) => name !== subject).map((name) => [subject, name] as const),
  )
  for (const [subject, name] of [...granting.map((own) => [own, own] as const), ...heirs]) {
    for (const group of write.groups('allow', name)) {
      yield { subject, group, granted: () => grantedTo(write, group, index.subjectsOf(subject)) }
    }
  }
}

function grantedTo(write: ActionRules, group: RuleGroup, subjects: ReadonlySet<string>): readonly Extent[] {
  const { space } = write
  const { changes } = decisionsOf(write.resource, write.action)
  return write.granted([group], subjects).flatMap(({ fields, region }) => {
    const stored = space.storedSide(space.regions.both(region, changes ? space.second : space.first))
    return stored === NOWHERE ? [] : [{ fields, region: stored }]
  })
}

/** The stored objects that a caller with these subjects may read in part. */
export function readableBy(read: ActionRules, subjects: ReadonlySet<string>): Region {
  return read.space.storedSide(read.allowed(subjects))
}
