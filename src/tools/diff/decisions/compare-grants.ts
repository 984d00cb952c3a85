/**
 * What one caller gains and loses between two grants of an action: the whole action, some fields, or the role level.
 */
import type { Region } from '../../../decide/relations/regions.ts'
import type { ChangedPart, Scope } from '../change.ts'
import { type Sides, sidesOf } from '../change.ts'
import { describeScope } from './describe-region.ts'
import type { Topic } from './topic.ts'

export interface GrantChange {
  readonly caller: readonly string[]
  readonly effect: 'gains' | 'loses'
  readonly part: ChangedPart
  /** Undefined for all fields of the action. */
  readonly fields: readonly string[] | undefined
  readonly scope: Scope
}

/** What is granted to a caller, and to each of its subjects alone if it has two. */
interface Grants {
  readonly granted: Sides<readonly Region[]>
  readonly alone: readonly Sides<readonly Region[]>[]
}

export interface ComparedGrants extends Grants {
  readonly possible: Region
  /** In the topic's space of names. */
  readonly byName: Grants & { readonly possible: Region }
}

/** Empty if both sides grant the same. */
export function compareGrants(
  topic: Topic,
  caller: readonly string[],
  comparison: ComparedGrants,
): readonly GrantChange[] {
  const found = [
    ...gainsOf(topic, comparison, byFields).map((gain) => ({ ...gain, caller, effect: 'gains' as const })),
    // A lost action is reported without its fields.
    ...gainsOf(topic, { ...comparison, ...swapped(comparison) }, whole).map((gain) => ({
      ...gain,
      caller,
      effect: 'loses' as const,
    })),
  ]
  return found.length > 0 ? found : compareRoleLevel(topic, caller, comparison.byName)
}

/** A loss is a gain with before and after swapped. */
function swapped({ granted, alone }: Grants): Grants {
  return { granted: swap(granted), alone: alone.map(swap) }
}

function swap<T>({ before, after }: Sides<T>): Sides<T> {
  return { before: after, after: before }
}

type Gain = Omit<GrantChange, 'caller' | 'effect'>

interface Slice {
  readonly changed: Region
  readonly fields: readonly string[] | undefined
}

/** `cut` divides the region where the whole action is gained. */
function gainsOf(topic: Topic, { granted, alone, possible }: ComparedGrants, cut: typeof byFields): readonly Gain[] {
  const fresh = granted.after.map((region, i) => region & ~(granted.before[i] ?? 0n) & possible)
  const explained = fresh.map((region, i) =>
    alone.reduce((sum, one) => sum | (region & (one.after[i] ?? 0n) & ~(one.before[i] ?? 0n)), 0n),
  )
  const somewhere = sidesOf((side) => anyOf(granted[side]))
  const own = fresh.map((region, i) => region & ~(explained[i] ?? 0n))
  const action = somewhere.after & ~somewhere.before & anyOf(own)
  const describe = (changed: Region, kept: Region) => describeScope(topic.space, { changed, kept, possible })
  const actions = cut(topic, action, granted.after).map(({ changed, fields }): Gain => {
    return { part: 'action', fields, scope: describe(changed, somewhere.before & somewhere.after) }
  })
  const fields = own.flatMap((region, i) => {
    const changed = region & ~action
    const kept = (granted.before[i] ?? 0n) & (granted.after[i] ?? 0n)
    return changed === 0n ? [] : [{ fields: topic.classes[i] ?? [], scope: describe(changed, kept) }]
  })
  return [...actions, ...sameScope(topic, fields)]
}

function whole(_topic: Topic, action: Region): readonly Slice[] {
  return action === 0n ? [] : [{ changed: action, fields: undefined }]
}

/** One slice for each set of fields that are granted together. */
function byFields(topic: Topic, action: Region, granted: readonly Region[]): readonly Slice[] {
  const all = topic.classes.map((_, i) => i)
  const slices = all.reduce<readonly { readonly has: readonly number[]; readonly changed: Region }[]>(
    (parts, i) =>
      parts.flatMap(({ has, changed }) => {
        const here = changed & (granted[i] ?? 0n)
        const cut = [
          { has: [...has, i], changed: here },
          { has, changed: changed & ~here },
        ]
        return cut.filter((part) => part.changed !== 0n)
      }),
    [{ has: [], changed: action }].filter((part) => part.changed !== 0n),
  )
  return slices.map(({ has, changed }) => {
    const fields = has.flatMap((i) => topic.classes[i] ?? [])
    return { changed, fields: has.length === all.length ? undefined : inOrder(topic, fields) }
  })
}

/** One finding for all fields that changed under the same conditions. */
function sameScope(topic: Topic, changes: readonly { fields: readonly string[]; scope: Scope }[]): readonly Gain[] {
  const groups = Map.groupBy(changes, ({ scope }) => JSON.stringify(scope))
  return [...groups.values()].flatMap((group) => {
    const fields = group.flatMap((change) => change.fields)
    return group.slice(0, 1).map(({ scope }) => ({ part: 'fields', fields: inOrder(topic, fields), scope }) as const)
  })
}

/**
 * Differences that no object shows. The role level doesn't look at objects, so it takes relations by their names. If it
 * differs, a list is empty rather than refused, and a missing object is 404 rather than 403.
 */
function compareRoleLevel(
  topic: Topic,
  caller: readonly string[],
  { granted, alone, possible }: ComparedGrants['byName'],
): readonly GrantChange[] {
  const effect = roleLevelEffect(granted)
  if (effect === undefined || alone.some((one) => roleLevelEffect(one) === effect)) return []
  const changed = anyOf(granted[effect === 'gains' ? 'after' : 'before'])
  const scope = describeScope(topic.byName.space, { changed, kept: 0n, possible })
  return [{ caller, effect, part: 'role level', fields: undefined, scope }]
}

function roleLevelEffect({ before, after }: Sides<readonly Region[]>): GrantChange['effect'] | undefined {
  const [passed, passes] = [anyOf(before) !== 0n, anyOf(after) !== 0n]
  if (passed === passes) return undefined
  return passes ? 'gains' : 'loses'
}

function inOrder({ resource }: Topic, fields: readonly string[]): readonly string[] {
  return [...resource.fields.keys()].filter((field) => fields.includes(field))
}

function anyOf(regions: readonly Region[]): Region {
  return regions.reduce((sum, region) => sum | region, 0n)
}
