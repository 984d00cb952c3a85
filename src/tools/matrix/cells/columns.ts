/**
 * The columns of a matrix: anonymous, each role, and each user that a rule names. Where these can't show a rule: a caller
 * without a role, and pairs of roles where a deny of one takes what the other allows.
 */

import { coversResource, evaluate, isAbout, rulesFor } from '../../../decide/grants/evaluate.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { namedRelations, possibleSets } from '../../../decide/relations/possible-sets.ts'
import { needsCaller } from '../../../decide/relations/relation.ts'
import { columnOfRoles, concernsObject, type Spot, spotsOf } from '../../../decide/space.ts'
import type { Resources } from '../../../resources/resource.ts'
import type { Column } from '../read/expectation.ts'

export interface AskedColumn {
  readonly column: Column
  /** Whether it may be answered otherwise here than all others. */
  readonly concerns: (spot: Spot) => boolean
}

/** A column with all that its caller is to rules. */
interface Caller {
  readonly column: Column
  readonly subjects: ReadonlySet<string>
}

type Spots = ReadonlySet<string>

/** `policy` without rules that have ended. */
export function columnsOf(policy: Policy, resources: Resources): readonly AskedColumn[] {
  const places = new Map(spotsOf(resources).map((spot) => [keyOf(spot), spot]))
  const usual = [anonymous(), ...[...policy.roles.keys()].map((role) => callerOf(policy, [role]))]
  const users = [...new Set(policy.rules.map(({ subject }) => subject))].filter((one) => one.startsWith('user:'))
  const nobody = callerOf(policy, [])
  const without = spotsWhere(places, (spot) => showsAlone(policy, spot, nobody, usual))
  const named = users.map((user): readonly [Caller, Spots] => [
    { column: { kind: 'user', id: user.slice('user:'.length) }, subjects: new Set(['everyone', user]) },
    spotsWhere(places, (spot) =>
      policy.rules.some((rule) => rule.subject === user && coversResource(rule, spot.resource)),
    ),
  ])
  const single: readonly (readonly [Caller, Spots])[] = [[nobody, without], ...named]
  const asked = [...single, ...pairsOf(policy, places, [...usual, nobody, ...named.map(([caller]) => caller)])]
  return [
    ...usual.map(({ column }) => ({ column, concerns: () => true })),
    ...asked
      .filter(([, spots]) => spots.size > 0)
      .map(([{ column }, spots]) => ({ column, concerns: (spot: Spot) => spots.has(keyOf(spot)) })),
  ]
}

function keyOf({ resource, action }: Spot): string {
  return `${resource.name} ${action.name}`
}

function spotsWhere(places: ReadonlyMap<string, Spot>, fits: (spot: Spot) => boolean): Spots {
  return new Set([...places].flatMap(([key, spot]) => (fits(spot) ? [key] : [])))
}

function anonymous(): Caller {
  return { column: { kind: 'anonymous' }, subjects: new Set(['everyone', 'anonymous']) }
}

function callerOf(policy: Policy, roles: readonly string[]): Caller {
  return { column: { kind: 'roles', roles: roles.toSorted() }, subjects: columnOfRoles(policy, roles).subjects }
}

/** Whether rules for everybody show in no other column: every role has more, and anonymous more or no relation. */
function showsAlone(policy: Policy, spot: Spot, nobody: Caller, usual: readonly Caller[]): boolean {
  const rules = rulesFor(policy, { ...spot, subjects: nobody.subjects })
  const declared = policy.ownership.get(spot.resource.name)?.relations
  const named = rules.flatMap(({ relations }) => relations.flatMap((name) => declared?.get(name) ?? []))
  const ofCaller = named.some(needsCaller)
  const same = usual.filter(
    ({ column, subjects }) =>
      !(column.kind === 'anonymous' && ofCaller) && rulesFor(policy, { ...spot, subjects }).length === rules.length,
  )
  return rules.length > 0 && same.length === 0
}

/** For each deny that no single caller shows at some resource and action the first two roles that do. */
function pairsOf(
  policy: Policy,
  places: ReadonlyMap<string, Spot>,
  single: readonly Caller[],
): readonly (readonly [Caller, Spots])[] {
  const names = [...policy.roles.keys()]
  const pairs = names.flatMap((one, i) => names.slice(i + 1).map((other) => callerOf(policy, [one, other])))
  const chosen = new Map<Caller, Set<string>>()
  for (const [key, spot] of places) {
    for (const deny of policy.rules.filter((rule) => rule.effect === 'deny' && isAbout(rule, spot))) {
      const shows = ({ subjects }: Caller) => subjects.has(deny.subject) && isFelt(policy, spot, subjects, deny)
      const pair = single.some(shows) ? undefined : pairs.find(shows)
      if (pair) chosen.set(pair, (chosen.get(pair) ?? new Set()).add(key))
    }
  }
  return pairs.flatMap((pair) => {
    const spots = chosen.get(pair)
    return spots ? [[pair, spots] as const] : []
  })
}

/** Whether somebody would be granted more without the rule, however they relate to the object. */
function isFelt(policy: Policy, spot: Spot, subjects: ReadonlySet<string>, deny: Rule): boolean {
  const rules = rulesFor(policy, { ...spot, subjects })
  const others = rules.filter((rule) => rule !== deny)
  return setsAt(policy, spot).some((relations) => {
    const granted = (some: readonly Rule[]) =>
      evaluate({ ...policy, rules: some }, { ...spot, subjects, relations }).fields.size
    return granted(others) > granted(rules)
  })
}

function setsAt(policy: Policy, spot: Spot): readonly ReadonlySet<string>[] {
  const declared = policy.ownership.get(spot.resource.name)?.relations
  const named = concernsObject(spot) ? namedRelations(policy, spot.resource, spot.action) : []
  return possibleSets(
    named.flatMap((name) => declared?.get(name) ?? []),
    spot.resource,
  )
}
