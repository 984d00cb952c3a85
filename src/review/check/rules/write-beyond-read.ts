/** Objects that somebody may change or delete without being allowed to read them, on a path that can be read. */
import type { Diagnostic } from '../../../problems/diagnostic.ts'
import type { Resource } from '../../../resources/resource.ts'
import type { Area, Group } from '../area.ts'
import { CELL, type CheckedPolicy } from '../checked.ts'
import { type Check, namesText, warning } from '../finding.ts'
import type { RuleMap } from '../rule-map.ts'

/** A write and the read of the same path, as one caller has them. */
interface Pair {
  readonly write: Area
  readonly read: Area
  readonly path: string
}

/** Combinations of relations that are tried for one rule grow as 2 to this number of different reasons not to read. */
const MOST_DENIES = 8

export const writesBeyondReads: Check<CheckedPolicy> = {
  codes: [
    {
      code: 'write-beyond-read',
      meaning:
        'Somebody may replace, update or delete objects that they may not read, on one path: the same ownership should hold for every method',
      mend: 'Narrow the relation of the write to that of the read, or widen the read',
    },
  ],
  find: (checked) =>
    [...checked.resources.byName.values()].flatMap((resource) => {
      const found = pairsOf(resource, checked.map).flatMap((pair) => beyond(pair, checked))
      return [...Map.groupBy(found, ({ subject, line, which }) => `${line} ${subject} ${which}`).values()].flatMap(
        (alike) => findingOf(resource, alike, checked),
      )
    }),
}

/** `alike`: the actions of one line about which the same is to say. */
function findingOf(
  resource: Resource,
  alike: readonly Beyond[],
  { placeOfLine }: CheckedPolicy,
): readonly Diagnostic[] {
  const [first] = alike
  if (!first) return []
  const actions = namesText(alike.map(({ pair }) => pair.write.action.name))
  const may = `\`${first.subject}\` may ${actions} objects of \`${resource.name}\` ${first.which}`
  const message = `${may}, and not read them at \`${first.pair.path}\``
  const hint = 'narrow the relation of this line, or widen that of reading'
  return [warning(placeOfLine(first.line, CELL.action), 'write-beyond-read', message, hint)]
}

/** Every write that stands beside a read on some path; the first such path. */
function pairsOf({ name, routes }: Resource, map: RuleMap): readonly Pair[] {
  const pairs = routes.flatMap(({ path, endpoints }) => {
    const read = map.area(name, endpoints.get('GET')?.action ?? '')
    const writes = [...endpoints.values()].filter(({ operation }) =>
      ['replace', 'update', 'delete'].includes(operation),
    )
    return writes.flatMap(({ action }) => {
      const write = map.area(name, action)
      return read && write ? [{ write, read, path }] : []
    })
  })
  const alike = Map.groupBy(pairs, ({ write, read }) => `${write.action.name} ${read.action.name}`)
  return [...alike.values()].flatMap((some) => some.slice(0, 1))
}

interface Beyond {
  readonly subject: string
  readonly pair: Pair
  readonly line: number
  /** Which objects, in words. */
  readonly which: string
}

/** Each rule once: for its own subject, else for one that inherits it. */
function beyond(pair: Pair, { policy, map }: CheckedPolicy): readonly Beyond[] {
  const known = new Set<Group>()
  const check = (subject: string, granting: string): readonly Beyond[] =>
    [...pair.write.groups('allow', granting)].flatMap((group) => {
      const relations = known.has(group) ? undefined : unreadable(pair, group, map.subjectsOf(subject))
      if (relations === undefined) return []
      known.add(group)
      const line = Math.min(...group.reaches.map(({ rule }) => rule.line))
      const declared = [...(policy.ownership.get(pair.write.resource.name)?.relations.keys() ?? [])]
      const names = declared.filter((_, bit) => (relations >> BigInt(bit)) & 1n)
      const which = names.length === 0 ? 'that they have no relation to' : `that are \`${names.join('+')}\``
      return [{ subject, pair, line, which }]
    })
  const granting = [...pair.write.subjects('allow')]
  const own = granting.flatMap((subject) => check(subject, subject))
  const others = ['anonymous', ...policy.roles.keys(), ...pair.read.subjects('deny')]
  const heirs = others.flatMap((subject) =>
    [...map.subjectsOf(subject)].filter((name) => name !== subject).flatMap((name) => check(subject, name)),
  )
  return [...own, ...heirs]
}

/** A set of relations for which the group grants the write and nothing grants the read; undefined when there is none. */
function unreadable({ write, read }: Pair, group: Group, subjects: ReadonlySet<string>): bigint | undefined {
  // Fewer relations only help the write, and hinder the read; more of them matter only where they deny the read.
  const denies = new Set([...subjects].flatMap((subject) => [...read.groups('deny', subject)].map((g) => g.relations)))
  const sets = [group.relations]
  for (const deny of [...denies].slice(0, MOST_DENIES)) sets.push(...sets.map((set) => set | deny))
  const writes = (set: bigint) => (group.fields & ~write.named('deny', subjects, set)) !== 0n
  return sets.find((set) => writes(set) && read.granted(subjects, set) === 0n)
}
