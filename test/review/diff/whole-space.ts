/** The whole space of decisions between two policies, as the oracle sees it: every object that relations can tell apart. */
import type { Resource } from '../../../src/resources/resource.ts'
import { asOracle } from '../../policy/fixture.ts'
import { granted, relationsOf, roleLevel } from '../../policy/oracle.ts'
import type { Json, OracleCaller, OraclePolicy, OracleRelation, Plain, World } from '../../policy/world.ts'
import type { PolicyPair } from './policy-pairs.ts'

/** What is granted before and after, to one caller, where these relations hold. */
export interface Point {
  readonly relations: ReadonlySet<string>
  readonly before: ReadonlySet<string>
  readonly after: ReadonlySet<string>
}

export interface Question {
  readonly resource: Resource
  readonly action: string
  readonly caller: OracleCaller
}

/**
 * Options and built-in routes concern no object. For others the caller's relations are taken from one object and the state
 * relations from another, as in a write.
 */
export function pointsOf(pair: PolicyPair, question: Question): readonly Point[] {
  const { resource, action, caller } = question
  const [before, after] = [worldOf(pair.before, resource, caller), worldOf(pair.after, resource, caller)]
  const related = isAbstract(question)
    ? [{ old: new Set<string>(), now: new Set<string>() }]
    : writesOf(pair, question).map(({ proposed, stored }) => ({
        old: relationsOf(before, proposed, stored),
        now: relationsOf(after, proposed, stored),
      }))
  const distinct = new Map(related.map(({ old, now }) => [JSON.stringify([[...old], [...now]]), { old, now }]))
  return [...distinct.values()].map(({ old, now }) => ({
    relations: old.union(now),
    before: granted(before, action, old),
    after: granted(after, action, now),
  }))
}

/** Whether an action passes before any object is looked for. */
export function roleLevels(
  pair: PolicyPair,
  question: Question,
): { readonly before: boolean; readonly after: boolean } {
  const { resource, action, caller } = question
  const passes = (policy: OraclePolicy) => {
    const world = worldOf(policy, resource, caller)
    return isAbstract(question) ? granted(world, action, new Set()).size > 0 : roleLevel(world, action)
  }
  return { before: passes(pair.before), after: passes(pair.after) }
}

function isAbstract({ resource, action }: Question): boolean {
  return resource.builtIn || action === 'options'
}

function worldOf(policy: OraclePolicy, resource: Resource, caller: OracleCaller): World {
  return { policy, resource: asOracle(resource), caller }
}

/** Who compares equal with the fields of `writesOf`. */
export const CLAIMS: Plain = { team: 'red', level: 7, lit: true }

function writesOf(pair: PolicyPair, { resource, caller }: Question): readonly { proposed: Plain; stored: Plain }[] {
  const used = relationsUsed(pair, resource.name)
  const stored = new Map<string, Json[]>()
  const proposed = new Map<string, Json[]>()
  for (const relation of used) {
    if ('in' in relation) stored.set(relation.field, [...(stored.get(relation.field) ?? [null]), ...relation.in])
    else if ('equals' in relation)
      proposed.set(relation.field, [null, (relation.equals === 'id' ? caller.id : CLAIMS[relation.equals]) ?? 'nobody'])
  }
  for (const [field, [, ...constants]] of stored) {
    if (resource.fields.get(field)?.list) stored.set(field, subsetsOf([...new Set(constants)]))
  }
  return objectsOf(proposed).flatMap((one) => objectsOf(stored).map((other) => ({ proposed: one, stored: other })))
}

function relationsUsed({ before, after }: PolicyPair, resource: string): readonly OracleRelation[] {
  const names = new Set([...before.rules, ...after.rules].flatMap(({ relations }) => relations))
  return [before, after].flatMap((policy) =>
    [...(policy.relations.get(resource) ?? [])].flatMap(([name, relation]) => (names.has(name) ? [relation] : [])),
  )
}

function objectsOf(choices: ReadonlyMap<string, readonly Json[]>): readonly Plain[] {
  return [...choices].reduce<readonly Plain[]>(
    (objects, [field, values]) => objects.flatMap((object) => values.map((value) => ({ ...object, [field]: value }))),
    [{}],
  )
}

function subsetsOf(values: readonly Json[]): Json[][] {
  const [first, ...rest] = values
  return first === undefined ? [[]] : subsetsOf(rest).flatMap((set) => [set, [first, ...set]])
}
