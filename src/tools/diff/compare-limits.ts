/** limits.yaml, the rate limits: how often, and whom they count. */
import type { Limit, LimitMatch, Policy } from '../../decide/policy.ts'
import { inheritedBy } from '../../decide/space.ts'
import { listed, type Phrase, plainText, say } from '../../present/phrase.ts'
import type { Direction, SettingChange } from './change.ts'
import { type Sides, sidesOf } from './decisions/relation-space.ts'
import { durationText } from './measure.ts'

export function compareLimits(policies: Sides<Policy>): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => new Map(policies[side].limits.limits.map((one) => [one.name, one])))
  const kept = [...before.values()].flatMap((old) => {
    const now = after.get(old.name)
    return now ? [{ before: old, after: now }] : []
  })
  return [
    ...kept.flatMap(compareLimit),
    ...kept.flatMap((limits) => compareHolders(policies, limits)),
    ...comingAndGoing({
      before: [...before.values()].filter(({ name }) => !after.has(name)),
      after: [...after.values()].filter(({ name }) => !before.has(name)),
    }),
  ]
}

interface Aspect {
  readonly direction: Direction
  readonly sentence: Phrase
}

/** One change a limit, however much of it changed. */
function compareLimit({ before, after }: Sides<Limit>): readonly SettingChange[] {
  const aspects = aspectsOf({ before, after })
  const [first, ...others] = new Set(aspects.map(({ direction }) => direction))
  if (first === undefined) return []
  const sentences = aspects.map((aspect) => aspect.sentence)
  const sentence = say`rate limit of ${after.name} ${listed(sentences, say`, `)}`
  const direction = others.length === 0 ? first : 'either'
  return [{ kind: 'limit', direction, name: after.name, ...sidesOf(textOf({ before, after })), sentence }]
}

function aspectsOf({ before, after }: Sides<Limit>): readonly Aspect[] {
  const windows = [durationText(before.windowMs), durationText(after.windowMs)] as const
  const counted = [matchPhrase(before.match), matchPhrase(after.match)] as const
  const aspects: readonly (Aspect & { readonly same: boolean })[] = [
    {
      same: before.allow === after.allow,
      direction: before.allow < after.allow ? 'widening' : 'narrowing',
      sentence: say`${before.allow} -> ${after.allow}`,
    },
    {
      same: before.windowMs === after.windowMs,
      direction: before.windowMs > after.windowMs ? 'widening' : 'narrowing',
      sentence: say`window ${windows[0]} -> ${windows[1]}`,
    },
    { same: before.per === after.per, direction: 'either', sentence: say`per ${before.per} -> ${after.per}` },
    {
      same: plainText(counted[0]) === plainText(counted[1]),
      direction: matchDirection(before.match, after.match),
      sentence: say`counts ${counted[0]} -> ${counted[1]}`,
    },
  ]
  return aspects.filter(({ same }) => !same)
}

/** A limit counts those who hold its role or inherit it, so a `g` line changes whom it counts. */
function compareHolders(policies: Sides<Policy>, limits: Sides<Limit>): readonly SettingChange[] {
  const { name, match } = limits.after
  const { role } = match
  if (role === undefined || role !== limits.before.match.role) return []
  const { before, after } = sidesOf((side) => heirsOf(policies[side], role))
  const base = { kind: 'limit-role', name, before: [...before].sort(), after: [...after].sort() } as const
  const changes: readonly (SettingChange & { readonly roles: ReadonlySet<string> })[] = [
    {
      ...base,
      direction: 'narrowing',
      roles: after.difference(before),
      sentence: say`rate limit of ${name} also counts ${listed([...after.difference(before)])}`,
    },
    {
      ...base,
      direction: 'widening',
      roles: before.difference(after),
      sentence: say`rate limit of ${name} no longer counts ${listed([...before.difference(after)])}`,
    },
  ]
  return changes.flatMap(({ roles, ...change }) => (roles.size === 0 ? [] : [change]))
}

function heirsOf(policy: Policy, role: string): ReadonlySet<string> {
  return new Set([...policy.roles.keys()].filter((name) => name !== role && inheritedBy(policy, name).has(role)))
}

/** Fewer conditions count more requests. */
function matchDirection(before: LimitMatch, after: LimitMatch): Direction {
  const [old, now] = [conditionsOf(before), conditionsOf(after)]
  const within = (some: ReadonlyMap<string, string>, all: ReadonlyMap<string, string>) =>
    [...some].every(([key, value]) => all.get(key) === value)
  if (within(now, old)) return 'narrowing'
  return within(old, now) ? 'widening' : 'either'
}

/** Every request is of `everyone`. */
function conditionsOf(match: LimitMatch): ReadonlyMap<string, string> {
  return new Map(Object.entries(match).filter(([key, value]) => key !== 'role' || value !== 'everyone'))
}

function matchPhrase(match: LimitMatch): Phrase {
  const conditions = [...conditionsOf(match)].sort().map(([key, value]) => say`${key} ${value}`)
  return conditions.length === 0 ? say`every request` : listed(conditions)
}

/** What has the same content under another name is renamed: only the name in the answer's headers differs. */
function comingAndGoing({ before, after }: Sides<readonly Limit[]>): readonly SettingChange[] {
  const pairs = before.flatMap((old): Sides<Limit>[] => {
    const now = after.find((limit) => contentOf(limit) === contentOf(old))
    return now ? [{ before: old, after: now }] : []
  })
  const isPaired = (limit: Limit) => pairs.some((pair) => pair.before === limit || pair.after === limit)
  const base = { kind: 'limit' } as const
  return [
    ...pairs.map(({ before: { name: old }, after: { name } }): SettingChange => {
      return {
        ...base,
        direction: 'neutral',
        name,
        before: old,
        after: name,
        sentence: say`rate limit ${old} is called ${name}`,
      }
    }),
    ...after
      .filter((limit) => !isPaired(limit))
      .map((limit): SettingChange => {
        const sentence = say`rate limit ${limit.name} is new: ${contentPhrase(limit)}`
        return { ...base, direction: 'narrowing', name: limit.name, before: null, after: contentOf(limit), sentence }
      }),
    ...before
      .filter((limit) => !isPaired(limit))
      .map((limit): SettingChange => {
        const sentence = say`rate limit ${limit.name} is gone: ${contentPhrase(limit)}`
        return { ...base, direction: 'widening', name: limit.name, before: contentOf(limit), after: null, sentence }
      }),
  ]
}

function textOf(limits: Sides<Limit>): (side: keyof Sides<Limit>) => string {
  return (side) => contentOf(limits[side])
}

function contentOf(limit: Limit): string {
  return plainText(contentPhrase(limit))
}

function contentPhrase({ allow, windowMs, per, match }: Limit): Phrase {
  return say`${allow} in ${durationText(windowMs)} per ${per}, counts ${matchPhrase(match)}`
}
