/** The whole space of decisions between two policies, as the oracle sees it: every object that relations can tell apart. */
import type { Resource } from '../../../src/resources/resource.ts'
import { asOracle } from '../../policy/fixture.ts'
import { granted, grantedOnResult, grantedWithoutObject, relationsOf, roleLevel } from '../../policy/oracle.ts'
import type { Json, OracleCaller, OraclePolicy, OracleRelation, Plain, World } from '../../policy/world.ts'
import type { PolicyPair } from './policy-pairs.ts'

/** The names that hold for the stored object, for the result with the stored states, and for the result. */
export interface Holding {
  readonly stored: ReadonlySet<string>
  readonly mixed: ReadonlySet<string>
  readonly proposed: ReadonlySet<string>
}

/** What is granted before and after, to one caller, where these relations hold. */
export interface Point {
  readonly holding: Holding
  readonly before: ReadonlySet<string>
  readonly after: ReadonlySet<string>
}

export interface Question {
  readonly resource: Resource
  readonly action: string
  readonly caller: OracleCaller
}

/** The decisions that decide: for a write to a stored object, those on its result. */
export function pointsOf(pair: PolicyPair, question: Question): readonly Point[] {
  return changesStored(question) ? resultsOf(pair, question) : objectPointsOf(pair, question)
}

/** The first decisions. Options and built-in routes concern no object. */
export function objectPointsOf(pair: PolicyPair, question: Question): readonly Point[] {
  const { resource, action, caller } = question
  const [before, after] = [worldOf(pair.before, resource, caller), worldOf(pair.after, resource, caller)]
  const grantedIn = (world: World, relations: ReadonlySet<string>) =>
    isAbstract(question) ? grantedWithoutObject(world, action) : granted(world, action, relations)
  return relatedObjects(pair, question).map(({ old, now }) => {
    const holds = old.union(now)
    return {
      holding: { stored: holds, mixed: holds, proposed: holds },
      before: grantedIn(before, old),
      after: grantedIn(after, now),
    }
  })
}

function resultsOf(pair: PolicyPair, question: Question): readonly Point[] {
  const { resource, action, caller } = question
  const [before, after] = [worldOf(pair.before, resource, caller), worldOf(pair.after, resource, caller)]
  const objects = relatedObjects(pair, question)
  return objects.flatMap((stored) =>
    objects
      .filter((proposed) => proposed.others.id === stored.others.id)
      .map((proposed) => {
        const [old, now] = [transitionIn(before, stored, proposed), transitionIn(after, stored, proposed)]
        return {
          holding: {
            stored: old.before.union(now.before),
            mixed: old.between.union(now.between),
            proposed: old.after.union(now.after),
          },
          before: grantedOnResult(before, action, old),
          after: grantedOnResult(after, action, now),
        }
      }),
  )
}

function transitionIn(world: World, stored: Faces, proposed: Faces) {
  return {
    before: relationsOf(world, stored.others, stored.states),
    between: relationsOf(world, proposed.others, stored.states),
    after: relationsOf(world, proposed.others, proposed.states),
  }
}

/** Objects that differ in their relations or in their ids, one of each. */
function relatedObjects(pair: PolicyPair, question: Question) {
  const { resource, caller } = question
  const [before, after] = [worldOf(pair.before, resource, caller), worldOf(pair.after, resource, caller)]
  if (isAbstract(question)) return [{ others: {}, states: {}, old: new Set<string>(), now: new Set<string>() }]
  const related = facesOf(pair, question).map(({ others, states }) => ({
    others,
    states,
    old: relationsOf(before, others, states),
    now: relationsOf(after, others, states),
  }))
  return [
    ...new Map(
      related.map((one) => [JSON.stringify([one.others.id ?? null, [...one.old], [...one.now]]), one]),
    ).values(),
  ]
}

function changesStored({ action }: Question): boolean {
  return action === 'replace' || action === 'update'
}

/** Whether an action passes before any object is looked for. */
export function roleLevels(
  pair: PolicyPair,
  question: Question,
): { readonly before: boolean; readonly after: boolean } {
  const { resource, action, caller } = question
  const passes = (policy: OraclePolicy) => {
    const world = worldOf(policy, resource, caller)
    return isAbstract(question) ? grantedWithoutObject(world, action).size > 0 : roleLevel(world, action)
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

/** An object as states see it, and as other relations do: they are independent, also where they compare one field. */
interface Faces {
  readonly states: Plain
  readonly others: Plain
}

function facesOf(pair: PolicyPair, { resource, caller }: Question): readonly Faces[] {
  const used = relationsUsed(pair, resource.name)
  const states = new Map<string, Json[]>()
  const others = new Map<string, Json[]>()
  for (const relation of used) {
    if ('in' in relation) states.set(relation.field, [...(states.get(relation.field) ?? [null]), ...relation.in])
    else if ('equals' in relation)
      others.set(relation.field, [null, (relation.equals === 'id' ? caller.id : CLAIMS[relation.equals]) ?? 'nobody'])
  }
  for (const [field, [, ...constants]] of states) {
    if (resource.fields.get(field)?.list) states.set(field, subsetsOf([...new Set(constants)]))
  }
  return objectsOf(others).flatMap((one) => objectsOf(states).map((other) => ({ others: one, states: other })))
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
