/** Turns findings into changes: one change for all callers, actions and resources with the same finding. */
import type { ComparedCaller } from '../compare.ts'
import type { DecisionChange } from './change.ts'
import type { GrantChange } from './compare-grants.ts'

export interface TopicFindings {
  readonly resource: string
  readonly action: string
  /** All subjects that were compared. */
  readonly subjects: readonly string[]
  readonly singles: readonly GrantChange[]
  readonly pairs: readonly GrantChange[]
}

export function groupFindings(
  topics: readonly TopicFindings[],
  columns: readonly ComparedCaller[],
): readonly DecisionChange[] {
  const order = new Map(columns.map(({ name }, i) => [name, i]))
  const changes = topics.flatMap((topic) => [
    ...grouped(topic.singles, ({ effect, part, fields, scope }) => [effect, part, fields, scope]).map((group) =>
      ofSingles(topic, group, columns),
    ),
    ...grouped(topic.pairs, ({ effect, part, fields }) => [effect, part, part === 'fields' && fields]).flatMap(
      (group) => ofPairs(topic, group, order),
    ),
  ])
  const byAction = merged(changes, 'actions')
  return merged(byAction, 'resources').toSorted((a, b) => rank(a, order) - rank(b, order))
}

/** `everyone` comes first, or otherwise the role that most of the others inherit. */
function ofSingles(
  topic: TopicFindings,
  group: readonly GrantChange[],
  columns: readonly ComparedCaller[],
): DecisionChange {
  const names = new Set(group.flatMap(({ caller }) => caller))
  const affected = columns.filter(({ name }) => names.has(name))
  const heirs = (name: string) =>
    affected.filter(({ subjects }) => subjects.before.has(name) || subjects.after.has(name)).length
  const [leader, ...others] = affected.map(({ name }) => name).toSorted((a, b) => heirs(b) - heirs(a))
  const unchanged = leader === 'everyone' ? topic.subjects.filter((name) => !names.has(name)) : []
  return change(
    topic,
    group,
    [leader, ...others].flatMap((name) => (name === undefined ? [] : [[name]])),
    unchanged,
  )
}

/**
 * One change for each first subject, which is the subject in most of the pairs. What a deny takes from its partners
 * depends on their grants: if it differs between them, the change names no fields and no scope.
 */
function ofPairs(
  topic: TopicFindings,
  group: readonly GrantChange[],
  order: ReadonlyMap<string, number>,
): readonly DecisionChange[] {
  const counts = Map.groupBy(
    group.flatMap(({ caller }) => caller),
    (name) => name,
  )
  const often = (name: string) => counts.get(name)?.length ?? 0
  const place = ([, partner = '']: readonly string[]) => order.get(partner) ?? 0
  const byRank = (caller: readonly string[]) =>
    caller.toSorted((a, b) => often(b) - often(a) || caller.indexOf(a) - caller.indexOf(b))
  const led = group.map((finding) => ({ ...finding, caller: byRank(finding.caller) }))
  return grouped(led, ({ caller: [leader] }) => leader).map((findings) => {
    const callers = grouped(findings, ({ caller }) => caller).flatMap(([first]) => (first ? [first.caller] : []))
    const combined = change(
      topic,
      findings,
      callers.toSorted((a, b) => place(a) - place(b)),
      [],
    )
    if (grouped(findings, ({ fields, scope }) => [fields, scope]).length === 1) return combined
    return { ...combined, fields: combined.part === 'fields' ? combined.fields : undefined, scope: undefined }
  })
}

function change(
  { resource, action }: TopicFindings,
  group: readonly GrantChange[],
  callers: readonly (readonly string[])[],
  unchanged: readonly string[],
): DecisionChange {
  const [finding] = group
  if (!finding) throw new Error('a group of findings is never empty')
  const { effect, part, fields, scope } = finding
  const what = { effect, part, fields, scope }
  return { kind: 'decision', callers, unchanged, resources: [resource], actions: [action], ...what }
}

/** Groups in the order of their first items. */
function grouped<T>(items: readonly T[], alike: (item: T) => unknown): readonly (readonly T[])[] {
  return [...Map.groupBy(items, (item) => JSON.stringify(alike(item))).values()]
}

/** One change for several that differ only in their actions, or only in their resources. */
function merged(changes: readonly DecisionChange[], across: 'actions' | 'resources'): readonly DecisionChange[] {
  return grouped(changes, (one) => ({ ...one, [across]: [] })).flatMap((group) =>
    group.slice(0, 1).map((first) => ({ ...first, [across]: group.flatMap((one) => one[across]) })),
  )
}

function rank({ callers }: DecisionChange, order: ReadonlyMap<string, number>): number {
  const [[leader = '', partner] = []] = callers
  const alone = order.get(leader) ?? 0
  return partner === undefined ? alone : order.size + alone
}
