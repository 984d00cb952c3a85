/** What rules are about: the actions and resources that they cover, and who may write through them. */

import type { ActionRules, RuleGroup } from '../../../analysis/action-rules.ts'
import { type Extent, NOWHERE } from '../../../analysis/regions.ts'
import type { ActionRulesIndex } from '../../../analysis/rule-index.ts'
import { decisionsOf } from '../../../analysis/space.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { coversResource } from '../../../decide/rules/terms.ts'
import type { Operation, Resource, Resources } from '../../../resources/resource.ts'

export function coveredBy(rule: Rule, { byName }: Resources): readonly Resource[] {
  const exact = byName.get(rule.resource)
  return exact ? [exact] : [...byName.values()].filter((resource) => coversResource(rule, resource))
}

/** The actions that a rule names; none for `*`. */
export function explicitActions({ actions }: Rule): readonly string[] {
  return actions.filter((name) => name !== '*')
}

const routed = new WeakMap<Resource, ReadonlySet<string>>()

/** The actions that some method of some route needs; every action of a resource that is kept elsewhere. */
export function routedActions(resource: Resource): ReadonlySet<string> {
  const known = routed.get(resource)
  if (known) return known
  const names = resource.routes.flatMap(({ endpoints }) => [...endpoints.values()].map(({ action }) => action))
  const actions = new Set(resource.external ? resource.actions.keys() : names)
  routed.set(resource, actions)
  return actions
}

const WRITES: readonly Operation[] = ['create', 'replace', 'update', 'delete']

/** The actions that change objects, the resource's own ones included. */
export function writingActions({ actions, routes }: Resource): ReadonlySet<string> {
  // A question to the policy changes nothing.
  const own = routes
    .filter(({ exchange }) => exchange === undefined)
    .flatMap(({ endpoints }) => [...endpoints.values()])
    .filter(({ operation }) => WRITES.includes(operation))
    .map(({ action }) => action)
  return new Set([...WRITES, ...own].filter((name) => actions.has(name)))
}

/** The actions of this set that a rule is about. */
export function performed({ actions }: Rule, of: ReadonlySet<string>): readonly string[] {
  return [...of].filter((name) => actions.includes('*') || actions.includes(name))
}

// ---- Finds who may write objects of a path, with which relations and through which rules. The checks that compare
// writing and reading use it.

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
