/**
 * What one caller gains and loses between two grants of an action: the whole action, some fields, or a level before the
 * one that decides.
 */
import { type ComparedGrants, type Grants, type Sides, sidesOf, type Topic } from '../../compare.ts'
import { EVERYWHERE, NOWHERE, type Region } from '../../regions.ts'
import type { ChangedPart, ChangeScope } from '../change.ts'
import { gainedRoleLevel } from './compare-role-level.ts'
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

type Gain = Omit<GrantChange, 'caller' | 'effect'>

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

function gainsOf(topic: Topic, compared: Grants, { decision, cut }: Manner): readonly Gain[] {
  const { regions } = topic.space
  const { granted } = compared
  const possible = regions.both(compared.possible, decision)
  const somewhere = sidesOf((side) => regions.any(granted[side]))
  const own = freshRegions(topic, compared, decision)
  const action = regions.both(regions.minus(somewhere.after, somewhere.before), regions.any(own))
  const describe = (changed: Region, kept: Region) =>
    describeScope(topic.space, { changed, kept: regions.both(kept, decision), possible, decision })
  const actions = cut(topic, action, granted.after).map(({ changed, fields }): Gain => {
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
function objectLevelGains(topic: Topic, compared: Grants): readonly Gain[] {
  const { decisions, space } = topic
  const { regions, rules } = space
  if (decisions.looks || !decisions.changes) return []
  const told = freshRegions(topic, compared, rules.second)
  const fresh = freshRegions(topic, compared, rules.first).map((region, i) =>
    regions.minus(region, rules.storedSide(told[i] ?? NOWHERE)),
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
): readonly Gain[] {
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
