/**
 * Finds who may write objects of a path, with which relations and through which rules. The checks that compare writing
 * and reading use it.
 */

import type { ActionRules, RuleGroup } from '../../../analysis/action-rules.ts'
import { type Extent, NOWHERE } from '../../../analysis/regions.ts'
import type { ActionRulesIndex } from '../../../analysis/rule-index.ts'
import { decisionsOf } from '../../../analysis/space.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'

/** A write and the read of the same path. */
export interface WritePair {
  readonly write: ActionRules
  readonly read: ActionRules
  readonly path: string
  readonly operation: Operation
}

/** A subject that may write, through one group of rules. */
interface Writer {
  readonly subject: string
  /** What the rules grant despite denies: for a write that changes an object, some result of it. */
  readonly granted: readonly Extent[]
}

interface Judged<Found> {
  readonly subject: string
  /** The first line of the group. */
  readonly line: number
  readonly found: Found
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
    return writes.flatMap(({ action, operation }) => {
      const write = index.rulesOf(name, action)
      return read && write ? [{ write, read, path, operation }] : []
    })
  })
  const alike = Map.groupBy(pairs, ({ write, read, operation }) =>
    [write.action.name, read.action.name, operation].join(' '),
  )
  return [...alike.values()].flatMap((some) => some.slice(0, 1))
}

/**
 * What `judge` finds about the writers, once for each group of rules: for the subject of its rules, or else for one
 * that inherits them. Subjects with the same rules are judged together.
 */
export function judgeWriters<Found>(
  { write, read }: WritePair,
  { policy, index }: { readonly policy: Policy; readonly index: ActionRulesIndex },
  judge: (writer: Writer) => Found | undefined,
): readonly Judged<Found>[] {
  const verdicts = new Map<string, readonly { readonly column: string; readonly found: Found }[]>()
  const known = new Set<string>()
  const judged = (subject: string, from: string): readonly Judged<Found>[] => {
    const verdict = verdicts.getOrInsertComputed(`${index.profileOf(subject)} ${subject === from ? '' : from}`, () =>
      write.groups('allow', from).flatMap((group) => {
        const found = judge({ subject, granted: grantedTo(write, group, index.subjectsOf(subject)) })
        return found === undefined ? [] : [{ column: group.column, found }]
      }),
    )
    return verdict.flatMap(({ column, found }) => {
      const group = `${from} ${column}`
      if (known.has(group)) return []
      known.add(group)
      return [{ subject, line: write.firstLine('allow', from, column), found }]
    })
  }
  const heirs = new Set(['anonymous', ...policy.roles.keys(), ...read.subjects('deny')])
  const inherited = (subject: string) => [...index.subjectsOf(subject)].filter((name) => name !== subject)
  return [
    ...[...write.subjects('allow')].flatMap((subject) => judged(subject, subject)),
    ...[...heirs].flatMap((subject) => inherited(subject).flatMap((name) => judged(subject, name))),
  ]
}

function grantedTo(write: ActionRules, group: RuleGroup, subjects: ReadonlySet<string>): readonly Extent[] {
  const { space } = write
  const { changes } = decisionsOf(write.resource, write.action)
  return write.granted([group], subjects).flatMap(({ fields, region }) => {
    const stored = space.storedSide(space.regions.both(region, changes ? space.second : space.first))
    return stored === NOWHERE ? [] : [{ fields, region: stored }]
  })
}
