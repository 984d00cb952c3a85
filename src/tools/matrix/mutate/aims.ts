/**
 * The requests that can show a changed decision: the rows of its action whose object is in a situation where the decision
 * differs, out of the regions of the diff, asked by the callers for which it differs.
 */

import type { ComparedCaller } from '../../../analysis/compare.ts'
import type { Sides } from '../../../analysis/compared-space.ts'
import type { SettingChange } from '../../../analysis/diff/change.ts'
import type { ChangedDecision } from '../../../analysis/diff/compare-decisions.ts'
import { namesWith } from '../../../analysis/possible-sets.ts'
import { NOWHERE, type Region } from '../../../analysis/regions.ts'
import { variablesOf } from '../../../analysis/space.ts'
import { concernsObject, type RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { columnKinds } from '../cells/columns.ts'
import {
  type AskedRow,
  cellsOf,
  completed,
  namedHere,
  rowsOf,
  type Situation,
  situationOf,
  whenOf,
} from '../cells/rows.ts'
import type { Write } from '../cells/telling-writes.ts'
import { conditionsAbout } from '../fixture/request-fixture.ts'
import type { Sampled } from '../fixture/satisfiability.ts'
import type { Cell } from '../predict/cell-fixture.ts'
import type { MatrixColumn } from '../read/expectation.ts'
import { heldIn, stateOf } from '../read/expectation.ts'
import { parseColumn } from '../read/words.ts'

export interface Aim {
  readonly cell: Cell
  readonly routeMethod: RouteMethod
  /** The fields whose grant differs. */
  readonly fields: ReadonlySet<string>
}

/** One caller alone before two together; each request once for each set of fields. */
export function aimsOf(policies: Sides<Policy>, known: Sampled, changed: readonly ChangedDecision[]): readonly Aim[] {
  const aims = new Map<string, Aim>()
  for (const one of changed.toSorted((a, b) => a.callers.length - b.callers.length)) {
    const column = columnOf(one.callers)
    for (const { row, fields } of column ? rowsAt(policies, known, one) : []) {
      const [cell] = column ? cellsOf(row, column) : []
      if (cell) aims.set(JSON.stringify([cell, [...fields]]), { cell, routeMethod: row.routeMethod, fields })
    }
  }
  return [...aims.values()]
}

/**
 * The rows and callers that another setting can matter to, such as another meaning of a relation or condition: those whose
 * rules name it. Lists come last, since they need the most objects.
 */
export function plainCells(
  { before, after }: Sides<Policy>,
  known: Sampled,
  settings: readonly SettingChange[],
): readonly Cell[] {
  const { usual, nobody, pairs, users } = columnKinds([before, after])
  const isList = ({ routeMethod }: AskedRow) => routeMethod.endpoint.operation === 'list'
  const rows = [...known.resources.byName.keys()]
    .flatMap((name) => rowsAbout(before, known, name))
    .filter(({ routeMethod }) => settings.some((setting) => matters(setting, before, routeMethod)))
    .toSorted((one, other) => Number(isList(one)) - Number(isList(other)))
  return rows.flatMap((row) =>
    [...usual, nobody, ...pairs, ...users].flatMap((column) => cellsOf(row, column).slice(0, 1)),
  )
}

function matters({ kind, name, resource }: SettingChange, policy: Policy, routeMethod: RouteMethod): boolean {
  if (resource !== undefined && resource !== routeMethod.resource.name) return false
  if (kind === 'condition') return conditionsAbout(policy, routeMethod.resource, routeMethod.endpoint).includes(name)
  if (kind !== 'relation') return true
  const relations = policy.ownership.get(routeMethod.resource.name)?.relations
  const named = [...namedHere(policy, routeMethod)].flatMap((one) => relations?.get(one) ?? [])
  return named.some((one) => one.name === name || leavesOf(one).some((leaf) => leaf.name === name))
}

/** The rows of a policy for each resource, made once: a mistake changes few of them. */
const rowsKnown = new WeakMap<Policy, Map<string, readonly AskedRow[]>>()

function rowsAbout(policy: Policy, known: Sampled, name: string): readonly AskedRow[] {
  return rowsKnown
    .getOrInsertComputed(policy, () => new Map<string, readonly AskedRow[]>())
    .getOrInsertComputed(name, () => rowsOf(policy, known, ({ resource }) => resource.name === name))
}

interface AimedRow {
  readonly row: AskedRow
  readonly fields: ReadonlySet<string>
}

/** First the situations in which the decision differs, made from them, then the rows of the policy that are in one. */
function* rowsAt(policies: Sides<Policy>, known: Sampled, changed: ChangedDecision): Generator<AimedRow> {
  const rows = rowsAbout(policies.before, known, changed.topic.resource.name).filter(({ routeMethod }) =>
    concerns(changed, routeMethod),
  )
  const routes = new Map(rows.map((row) => [row.routeMethod.endpoint, row]))
  for (const { routeMethod, methods } of routes.values()) {
    if (routeMethod.action !== changed.topic.action) continue
    for (const { fields, situation } of situationsOf(policies, known, changed, routeMethod))
      yield { row: { routeMethod, methods, ...situation }, fields }
  }
  const [fields, where] = [fieldsOf(changed), placeOf(changed)]
  for (const row of rows) if (isWhere(changed, row, where)) yield { row, fields }
}

/** The column of a matrix for these subjects; undefined if no column has them. */
function columnOf(callers: readonly ComparedCaller[]): MatrixColumn | undefined {
  if (callers.length > 1 && callers.some(({ name }) => name.startsWith('user:'))) return undefined
  const column = parseColumn(callers.map(({ name }) => name).join('+'))
  return column.kind === 'parsed' ? column.value : undefined
}

/** A write also depends on what the caller may read: a field that is hidden is refused. */
function concerns({ topic }: ChangedDecision, { resource, action, endpoint }: RouteMethod): boolean {
  if (resource !== topic.resource) return false
  return action === topic.action || (topic.action.name === 'read' && WRITES.has(endpoint.operation))
}

const WRITES: ReadonlySet<string> = new Set(['create', 'replace', 'update', 'delete'])

function fieldsOf({ topic, changed }: ChangedDecision): ReadonlySet<string> {
  return new Set(changed.flatMap((region, i) => (region === NOWHERE ? [] : (topic.classes[i] ?? []))))
}

/** The stored objects about which the decision differs; undefined where no object shows it. */
function placeOf({ topic: { space }, changed }: ChangedDecision): Region | undefined {
  return changed.length === 0 ? undefined : space.rules.storedSide(space.regions.any(changed))
}

function isWhere({ topic }: ChangedDecision, row: AskedRow, where: Region | undefined): boolean {
  const { object, when = [], becomes, routeMethod } = row
  if (where === undefined || routeMethod.action !== topic.action) return true
  const created = object.kind === 'none' ? becomes : undefined
  if (object.kind !== 'relations' && object.kind !== 'other' && !created) return true
  const names = new Set([...(created ?? heldIn(object)), ...when])
  const holding = topic.space.atoms.flatMap(({ label, leaf }, i) =>
    names.has(leaf?.before.name ?? label) ? [variablesOf(i).before] : [],
  )
  return topic.space.regions.has(where, new Set(holding))
}

/** How many situations are made for each class of fields, of each decision. */
const MOST_FOR_CLASS = 6

interface SituationThere {
  readonly situation: Situation
  readonly fields: ReadonlySet<string>
}

/** For each class of fields whose grant differs; those with the fewest relations and conditions first. */
function situationsOf(
  { before, after }: Sides<Policy>,
  known: Sampled,
  { topic, changed }: ChangedDecision,
  routeMethod: RouteMethod,
): readonly SituationThere[] {
  if (!concernsObject(routeMethod) || routeMethod.endpoint.operation === 'list') return []
  const { rules, regions } = topic.space
  const source = { policy: before, routeMethod, known }
  // Relations that no rule about the action names may hold or not.
  const leaves = new Set(topic.space.atoms.flatMap(({ leaf }) => (leaf ? [leaf.before.name] : [])))
  const relations = [...(before.ownership.get(topic.resource.name)?.relations.values() ?? [])]
  const ruled = relations.filter((one) => leavesOf(one).every(({ name }) => leaves.has(name)))
  const named = new Set(ruled.map(({ name }) => name))
  const object = ({ stored, when }: Write): readonly Situation[] => {
    const set = completed(source, { set: stored, named })
    if (!set) return []
    const isNew = routeMethod.endpoint.operation === 'create'
    return [
      {
        ...(isNew ? { object: { kind: 'none' }, becomes: [...set].sort() } : { object: stateOf(set) }),
        ...whenOf(when),
      },
    ]
  }
  const write = (one: Write) => situationOf(source, after, one)
  return changed.flatMap((region, i) => {
    const fields = new Set(topic.classes[i])
    const within = (decision: Region) => writesIn(topic, regions.both(region, decision), ruled)
    const situations = [
      ...within(rules.second).flatMap(routeMethod.route.command ? object : write),
      ...within(rules.first).flatMap(object),
    ]
    return situations.map((situation) => ({ situation, fields }))
  })
}

function writesIn(
  { space }: ChangedDecision['topic'],
  region: Region,
  relations: readonly Relation[],
): readonly Write[] {
  const { atoms, regions } = space
  const found: Write[] = []
  let left = region
  while (left !== NOWHERE && found.length < MOST_FOR_CLASS) {
    const holding = regions.smallest(left)
    const namesAt = (moment: 'before' | 'after') => {
      const leaves = new Set(
        atoms.flatMap(({ leaf }, i) => (leaf && holding.has(variablesOf(i)[moment]) ? [leaf.before.name] : [])),
      )
      return new Set(namesWith(relations, leaves))
    }
    const when = atoms.flatMap(({ label, leaf }, i) => (!leaf && holding.has(variablesOf(i).before) ? [label] : []))
    found.push({ stored: namesAt('before'), result: namesAt('after'), when })
    const exactly = atoms.flatMap((_, i) =>
      Object.values(variablesOf(i)).map((variable) =>
        holding.has(variable) ? regions.where(variable) : regions.not(regions.where(variable)),
      ),
    )
    left = regions.minus(left, regions.all(exactly))
  }
  return found
}
