/**
 * What one caller gains and loses between two grants of an action: the whole action, some fields, or a level before the
 * one that decides.
 */

import { subsets } from '../../base/subsets.ts'
import type { ComparedGrants, Grants } from '../compare.ts'
import { type ComparedSpace, type Sides, sidesOf, type Topic } from '../compared-space.ts'
import { EVERYWHERE, NOWHERE, type Region } from '../regions.ts'
import { variablesOf } from '../space.ts'
import type { ChangedPart, ChangeScope } from './change.ts'
import { describeScope } from './describe-region.ts'

export interface GrantChange {
  readonly caller: readonly string[]
  readonly effect: 'gains' | 'loses'
  readonly part: ChangedPart
  /** Undefined for all fields of the action. */
  readonly fields: readonly string[] | undefined
  readonly scope: ChangeScope
}

/** Empty if both sides grant the same. */
export function compareGrants(topic: Topic, comparison: ComparedGrants): readonly GrantChange[] {
  const asLoss = { ...comparison, ...swapped(comparison), byName: swapped(comparison.byName) }
  const caller = comparison.callers.map(({ name }) => name)
  const found = decisiveRegions(topic).flatMap((decision) => [
    ...gainsOf(topic, comparison, { decision, cut: byFields }).map((gain) => ({ ...gain, effect: 'gains' as const })),
    // A lost action is reported without its fields.
    ...gainsOf(topic, asLoss, { decision, cut: whole }).map((gain) => ({ ...gain, effect: 'loses' as const })),
  ])
  const early = [
    ...objectLevelGains(topic, comparison).map((gain) => ({ ...gain, effect: 'gains' as const })),
    ...objectLevelGains(topic, asLoss).map((gain) => ({ ...gain, effect: 'loses' as const })),
  ]
  const all = [...found, ...early]
  const changes = [...all, ...roleLevelGain(topic, comparison, 'gains'), ...roleLevelGain(topic, asLoss, 'loses')]
  const distinct = new Map(changes.map((change) => [JSON.stringify(change), { ...change, caller }]))
  return [...distinct.values()]
}

/** Where the decision is asked that decides a request: for a write to a stored object, the one on its result. */
function decisiveRegions({ decisions, space: { rules } }: Topic): readonly Region[] {
  return [...(decisions.looks ? [rules.first] : []), ...(decisions.changes ? [rules.second] : [])]
}

/** A loss is a gain with before and after swapped. */
function swapped({ granted, alone, possible }: Grants): Grants {
  return { granted: swap(granted), alone: alone.map(swap), possible }
}

function swap<T>({ before, after }: Sides<T>): Sides<T> {
  return { before: after, after: before }
}

type GrantGain = Omit<GrantChange, 'caller' | 'effect'>

interface Slice {
  readonly changed: Region
  readonly fields: readonly string[] | undefined
}

interface Manner {
  /** Where the decision is asked. */
  readonly decision: Region
  /** Divides the region where the whole action is gained. */
  readonly cut: typeof byFields
}

function gainsOf(topic: Topic, compared: Grants, { decision, cut }: Manner): readonly GrantGain[] {
  const { regions } = topic.space
  const { granted } = compared
  const possible = regions.both(compared.possible, decision)
  const somewhere = sidesOf((side) => regions.any(granted[side]))
  const own = freshRegions(topic, compared, decision)
  const action = regions.both(regions.minus(somewhere.after, somewhere.before), regions.any(own))
  const describe = (changed: Region, kept: Region) =>
    describeScope(topic.space, { changed, kept: regions.both(kept, decision), possible, decision })
  const actions = cut(topic, action, granted.after).map(({ changed, fields }): GrantGain => {
    return { part: 'action', fields, scope: describe(changed, regions.both(somewhere.before, somewhere.after)) }
  })
  const fields = own.flatMap((region, i) => {
    const changed = regions.minus(region, action)
    const kept = regions.both(granted.before[i] ?? NOWHERE, granted.after[i] ?? NOWHERE)
    return changed === NOWHERE ? [] : [{ fields: topic.classes[i] ?? [], scope: describe(changed, kept) }]
  })
  return [...actions, ...sameScope(topic, fields)]
}

/** Where each class of fields is gained, and not by one of two subjects alone. */
function freshRegions(
  { space: { regions } }: Topic,
  { granted, alone, possible }: Grants,
  decision: Region,
): readonly Region[] {
  const asked = regions.both(possible, decision)
  return granted.after.map((after, i) => {
    const fresh = regions.both(regions.minus(after, granted.before[i] ?? NOWHERE), asked)
    const explained = alone.map((one) => regions.minus(one.after[i] ?? NOWHERE, one.before[i] ?? NOWHERE))
    return regions.minus(fresh, regions.any(explained))
  })
}

/**
 * What the first decision on a write gains where the second one, on its result, gains nothing: the write is still
 * refused, but by a later check.
 */
function objectLevelGains(topic: Topic, compared: Grants): readonly GrantGain[] {
  const { decisions, space } = topic
  const { regions, rules } = space
  if (decisions.looks || !decisions.changes) return []
  const second = freshRegions(topic, compared, rules.second)
  const fresh = freshRegions(topic, compared, rules.first).map((region, i) =>
    regions.minus(region, rules.storedSide(second[i] ?? NOWHERE)),
  )
  const changed = regions.any(fresh)
  if (changed === NOWHERE) return []
  const possible = regions.both(compared.possible, rules.first)
  const scope = describeScope(space, { changed, kept: NOWHERE, possible, decision: rules.first })
  return [{ part: 'object level', fields: undefined, scope }]
}

function whole(_topic: Topic, action: Region): readonly Slice[] {
  return action === NOWHERE ? [] : [{ changed: action, fields: undefined }]
}

/** One slice for each set of fields that are granted together. */
function byFields(topic: Topic, action: Region, granted: readonly Region[]): readonly Slice[] {
  const { regions } = topic.space
  const all = topic.classes.map((_, i) => i)
  const slices = all.reduce<readonly { readonly has: readonly number[]; readonly changed: Region }[]>(
    (parts, i) =>
      parts.flatMap(({ has, changed }) => {
        const here = regions.both(changed, granted[i] ?? NOWHERE)
        const cut = [
          { has: [...has, i], changed: here },
          { has, changed: regions.minus(changed, here) },
        ]
        return cut.filter((part) => part.changed !== NOWHERE)
      }),
    [{ has: [], changed: action }].filter((part) => part.changed !== NOWHERE),
  )
  return slices.map(({ has, changed }) => {
    const fields = has.flatMap((i) => topic.classes[i] ?? [])
    return { changed, fields: has.length === all.length ? undefined : inOrder(topic, fields) }
  })
}

/** One finding for all fields that changed under the same conditions. */
function sameScope(
  topic: Topic,
  changes: readonly { fields: readonly string[]; scope: ChangeScope }[],
): readonly GrantGain[] {
  const groups = Map.groupBy(changes, ({ scope }) => JSON.stringify(scope))
  return [...groups.values()].flatMap((group) => {
    const fields = group.flatMap((change) => change.fields)
    return group.slice(0, 1).map(({ scope }) => ({ part: 'fields', fields: inOrder(topic, fields), scope }) as const)
  })
}

function roleLevelGain(
  topic: Topic,
  compared: ComparedGrants,
  effect: GrantChange['effect'],
): readonly Omit<GrantChange, 'caller'>[] {
  const shown = topic.space.regions.any(freshRegions(topic, compared, EVERYWHERE))
  const scope = gainedRoleLevel(topic, compared.byName, shown)
  return scope ? [{ effect, part: 'role level', fields: undefined, scope }] : []
}

function inOrder({ resource }: Topic, fields: readonly string[]): readonly string[] {
  return [...resource.fields.keys()].filter((field) => fields.includes(field))
}

// ---- Differences that no object shows. The role level doesn't look at objects, so it takes relations by their
// names. If it differs, a list is empty rather than refused, and a missing object is 404 rather than 403.

/**
 * Where the role level passes afterwards, and didn't before; undefined if nowhere. `shown`: what objects gain, in the
 * space of meanings: nothing more is said under the same conditions.
 */
function gainedRoleLevel(topic: Topic, { granted, alone, possible }: Grants, shown: Region): ChangeScope | undefined {
  const space = topic.byName
  const { regions, rules } = space
  const asked = (some: readonly Region[]) => regions.all([regions.any(some), rules.first, possible])
  /** The conditions under which some set of relations is allowed. */
  const passing = (some: readonly Region[]) => onConditions(space, asked(some))
  const gained = (one: Grants['granted']) => regions.minus(passing(one.after), passing(one.before))
  const own = regions.minus(gained(granted), regions.any(alone.map(gained)))
  const region = own === NOWHERE ? NOWHERE : regions.minus(own, conditionsWhere(topic, shown))
  if (region === NOWHERE) return undefined
  const changed = regions.both(asked(granted.after), region)
  return describeScope(space, {
    changed,
    kept: NOWHERE,
    possible: regions.both(rules.first, possible),
    decision: rules.first,
  })
}

/** More conditions of one action are not told apart here. */
const MOST_CONDITIONS = 8

/** The conditions under which the region has a situation: from the space of meanings to the space of names. */
function conditionsWhere({ space, byName }: Topic, region: Region): Region {
  const shown = onConditions(space, region)
  if (shown === NOWHERE) return NOWHERE
  const [known, named] = [conditionsOf(space), conditionsOf(byName)]
  if (named.size > MOST_CONDITIONS) return EVERYWHERE
  const exactly = ({ regions }: ComparedSpace, places: ReadonlyMap<string, number>, holding: readonly string[]) =>
    regions.exactly(new Set(holding.flatMap((label) => places.get(label) ?? [])), places.values())
  const sets = subsets([...named.keys()]).filter((holding) => {
    return space.regions.both(shown, exactly(space, known, holding)) !== NOWHERE
  })
  return byName.regions.any(sets.map((holding) => exactly(byName, named, holding)))
}

/** What a region says about conditions, whatever relations hold. */
function onConditions(space: ComparedSpace, region: Region): Region {
  const variables = new Set(conditionsOf(space).values())
  return space.regions.whatever(region, (variable) => !variables.has(variable))
}

/** The variables of the conditions, by their labels. */
function conditionsOf({ atoms }: ComparedSpace): ReadonlyMap<string, number> {
  return new Map(atoms.flatMap(({ label, leaf }, i) => (leaf ? [] : [[label, variablesOf(i).before] as const])))
}
