/**
 * The situations of tasks, as the second edition tells them apart: the leaves that hold before and after a write, and the
 * conditions of the request. Leaves are independent, except those that one value of a field decides.
 */

import type { ChangeScope, ScopeTerm } from '../../../src/analysis/diff/change.ts'
import { asOracle } from '../../policy/fixture.ts'
import { TASKS } from '../../policy/language-fixture.ts'
import { subsets } from '../../policy/oracle/plain.ts'
import { thisCaller } from '../../policy/oracle/relations.ts'
import { nameOf } from '../../policy/oracle/terms.ts'
import {
  covers,
  granted,
  grantedOnResult,
  grantedWithoutObject,
  queryable,
  relationsOf,
  roleLevel,
} from '../../policy/oracle.ts'
import type { Json, OracleCaller, OraclePolicy, OracleRelation, Plain, World } from '../../policy/world.ts'
import type { PolicyPair } from './policy-pairs.ts'
import type { RoleLevels } from './promises.ts'
import type { Point, Question } from './whole-space.ts'

type Names = ReadonlySet<string>

export function pointsOf(pair: PolicyPair, question: Question): readonly Point[] {
  if (!changesStored(question)) return objectPointsOf(pair, question)
  const sets = leafSets(pair, question)
  const [kept, states] = [namesWhere(pair, question, neverChanges), namesWhere(pair, question, isState)]
  return conditionSets(pair, question).flatMap((conditions) => {
    const { before, after } = worldsOf(pair, question, conditions)
    return sets.flatMap((stored) =>
      sets
        .filter((proposed) => kept.every((name) => stored.has(name) === proposed.has(name)))
        .map((proposed): Point => {
          const mixed = new Set(
            [...stored]
              .filter((name) => states.includes(name))
              .concat([...proposed].filter((name) => !states.includes(name))),
          )
          const transition = {
            before: named(before, stored),
            between: named(before, mixed),
            after: named(before, proposed),
          }
          return {
            holding: { stored: stored.union(conditions), mixed: mixed.union(conditions), proposed },
            before: grantedOnResult(before, question.action, transition),
            after: grantedOnResult(after, question.action, transition),
          }
        }),
    )
  })
}

export function objectPointsOf(pair: PolicyPair, question: Question): readonly Point[] {
  const sets = isAbstract(question) ? [new Set<string>()] : leafSets(pair, question)
  return conditionSets(pair, question).flatMap((conditions) => {
    const { before, after } = worldsOf(pair, question, conditions)
    return sets.map((leaves) => {
      const holding = leaves.union(conditions)
      const grantedIn = (world: World) =>
        isAbstract(question)
          ? grantedWithoutObject(world, question.action)
          : granted(world, question.action, named(before, leaves))
      return {
        holding: { stored: holding, mixed: holding, proposed: leaves },
        before: grantedIn(before),
        after: grantedIn(after),
      }
    })
  })
}

export function roleLevels(pair: PolicyPair, question: Question): readonly RoleLevels[] {
  const all = [...(pair.before.conditions?.keys() ?? [])]
  return conditionSets(pair, question).map((holding) => {
    const passes = (world: World) =>
      isAbstract(question) ? grantedWithoutObject(world, question.action).size > 0 : roleLevel(world, question.action)
    const { before, after } = worldsOf(pair, question, holding)
    return {
      conditions: new Map(all.map((name) => [name, holding.has(name)])),
      before: passes(before),
      after: passes(after),
    }
  })
}

interface Queries {
  readonly conditions: Names
  /** The fields that the list may be filtered and sorted by. */
  readonly before: Names
  readonly after: Names
  /** The fields that some row shows, before and after. */
  readonly shown: Names
}

/** For a role, `everyone` or `anonymous`, under each set of conditions. */
export function queriesIn(pair: PolicyPair, name: string): readonly Queries[] {
  const roles = name === 'everyone' || name === 'anonymous' ? [] : [name]
  const caller = callerOf(name === 'anonymous' ? undefined : 'nobody', roles)
  const question = { resource: TASKS, action: 'list', caller }
  return conditionSets(pair, question).map((conditions) => {
    const { before, after } = worldsOf(pair, question, conditions)
    const shownIn = (world: World) =>
      new Set(everySet(pair, question).flatMap((leaves) => [...granted(world, 'list', named(world, leaves))]))
    return {
      conditions,
      before: queryable(before),
      after: queryable(after),
      shown: shownIn(before).intersection(shownIn(after)),
    }
  })
}

/** The role level doesn't look at objects: every set of leaves could hold. */
function everySet(pair: PolicyPair, question: Question): readonly Names[] {
  return subsets([...leavesOf(pair, question).keys()])
}

/** Whether the scope has a term that fits exactly these conditions. */
export function isUnder(conditions: Names, scope: ChangeScope | undefined): boolean {
  const fits = ({ with: held, without }: ScopeTerm) =>
    held.every((name) => conditions.has(name)) && !without.some((name) => conditions.has(name))
  return scope?.when.some(fits) ?? false
}

function isAbstract({ resource, action }: Question): boolean {
  return resource.builtIn || action === 'options'
}

function changesStored({ action }: Question): boolean {
  return ['replace', 'update', 'claim'].includes(action)
}

const NOW = Date.parse('2026-11-20T10:00:00Z')

/** Without address, sign-in or API key: no condition holds but those that are assumed. */
export function worldsOf(pair: PolicyPair, { resource, caller }: Question, assumed: Names) {
  const worldOf = (policy: OraclePolicy): World => {
    return { policy, resource: asOracle(resource), caller, assumed, now: NOW }
  }
  return { before: worldOf(pair.before), after: worldOf(pair.after) }
}

/** Without credentials, no condition holds that looks at them. */
export function conditionSets({ before, after }: PolicyPair, { caller }: Question): readonly Names[] {
  const declared = [...new Map([...(before.conditions ?? []), ...(after.conditions ?? [])])]
  const could = declared.filter(([, one]) => caller.id !== undefined || !('signedIn' in one || 'credential' in one))
  return subsets(could.map(([name]) => name))
}

// ---- Leaves ---------------------------------------------------------------------------------------------------------

type Leaf = Exclude<OracleRelation, { readonly all: unknown } | { readonly any: unknown }>

/** The leaves of the relations that rules about the action name. */
export function leavesOf(pair: PolicyPair, { resource, action }: Question): ReadonlyMap<string, Leaf> {
  const relations = pair.before.relations.get(resource.name) ?? new Map<string, OracleRelation>()
  const about = [...pair.before.rules, ...pair.after.rules].filter(
    (rule) =>
      covers(rule.resource, asOracle(resource)) && (rule.actions.includes('*') || rule.actions.includes(action)),
  )
  const leaves = new Map<string, Leaf>()
  const add = (name: string): void => {
    const relation = relations.get(name)
    if (!relation) return
    if ('all' in relation) for (const part of relation.all) add(part)
    else if ('any' in relation) for (const part of relation.any) add(part)
    else leaves.set(name, relation)
  }
  for (const { relations: left, after = [] } of about) for (const term of [...left, ...after]) add(nameOf(term))
  return leaves
}

function namesWhere(pair: PolicyPair, question: Question, is: (leaf: Leaf) => boolean): readonly string[] {
  return [...leavesOf(pair, question)].filter(([, leaf]) => is(leaf)).map(([name]) => name)
}

function isState(leaf: Leaf): boolean {
  return 'in' in leaf || 'present' in leaf
}

function isValued(leaf: Leaf): boolean {
  return isState(leaf) || 'atLeast' in leaf || 'atMost' in leaf
}

/** They look at fields that only the server sets, once. */
function neverChanges(leaf: Leaf): boolean {
  return 'some' in leaf || ('field' in leaf && leaf.field === 'createdAt')
}

/** Every set of leaves that can hold together. */
function leafSets(pair: PolicyPair, question: Question): readonly Names[] {
  const { before } = worldsOf(pair, question, new Set())
  const leaves = leavesOf(pair, question)
  const valued = [...leaves].filter(([, leaf]) => isValued(leaf))
  const compares = thisCaller(before)
  const free = [...leaves].filter(([, leaf]) => !isValued(leaf) && (!needsCaller(leaf) || compares('id')))
  const isWanted = new Set(valued.map(([name]) => name))
  const objects = objectsTelling(
    valued.map(([, leaf]) => leaf),
    question,
  )
  const byValue = objects.map((object) => relationsOf(before, object).intersection(isWanted))
  const distinct = [...new Map(byValue.map((set) => [[...set].toSorted().join('+'), set])).values()]
  return distinct.flatMap((set) => subsets(free.map(([name]) => name)).map((more) => set.union(more)))
}

function needsCaller(leaf: Leaf): boolean {
  return 'equals' in leaf || 'through' in leaf || 'some' in leaf
}

/** Objects with each value of each field that a state or a range could tell apart. */
function objectsTelling(leaves: readonly Leaf[], { resource }: Question): readonly Plain[] {
  const values = new Map<string, readonly Json[]>()
  for (const leaf of leaves) {
    if (!('field' in leaf)) continue
    const known = values.get(leaf.field) ?? [null, 'other']
    const bounds = [...('atLeast' in leaf ? [leaf.atLeast ?? 0] : []), ...('atMost' in leaf ? [leaf.atMost ?? 0] : [])]
    const numbers = bounds.flatMap((bound) => [bound - 1, bound, bound + 1])
    values.set(leaf.field, [...new Set([...known, ...('in' in leaf ? leaf.in : []), ...numbers])])
  }
  return [...values].reduce<readonly Plain[]>(
    (objects, [field, some]) => {
      const choices = resource.fields.get(field)?.list ? listsOf(some) : some
      return objects.flatMap((object) => choices.map((value) => ({ ...object, [field]: value })))
    },
    [{}],
  )
}

function listsOf([first, ...rest]: readonly Json[]): readonly (readonly Json[])[] {
  return first === undefined ? [[]] : listsOf(rest).flatMap((list) => [list, [first, ...list]])
}

/** The names that follow from these leaves. */
export function named({ policy, resource }: World, leaves: Names): Names {
  const relations = policy.relations.get(resource.name) ?? new Map<string, OracleRelation>()
  const follows = (name: string): boolean => {
    const relation = relations.get(name)
    if (relation && 'all' in relation) return relation.all.every(follows)
    if (relation && 'any' in relation) return relation.any.some(follows)
    return leaves.has(name)
  }
  return new Set([...relations.keys()].filter(follows))
}

/** Who has every attribute. */
export function callerOf(id: string | undefined, roles: readonly string[]): OracleCaller {
  return id === undefined ? { roles: [], claims: {} } : { id, roles, claims: { teams: 'red', tenant: 'x' } }
}
