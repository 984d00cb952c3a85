/** limits.yaml: the rate limits, the callers that they count, and the sizes of bodies, objects, answers and pages. */

import { heirsOf, type Limit, type LimitMatch, type Limits, type Policy } from '../../decide/policy.ts'
import { listed, type Phrase, plainText, say } from '../../present/phrase.ts'
import { type Sides, sidesOf } from '../compared-space.ts'
import { cameAndWent, type Direction, type SettingChange } from './change.ts'

export function compareLimits(policies: Sides<Policy>): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => new Map(policies[side].limits.limits.map((one) => [one.name, one])))
  const kept = [...before.values()].flatMap((old) => {
    const now = after.get(old.name)
    return now ? [{ before: old, after: now }] : []
  })
  return [
    ...kept.flatMap(compareLimit),
    ...kept.flatMap((limits) => compareHolders(policies, limits)),
    ...compareOthers({
      before: [...before.values()].filter(({ name }) => !after.has(name)),
      after: [...after.values()].filter(({ name }) => !before.has(name)),
    }),
  ]
}

interface Aspect {
  readonly direction: Direction
  readonly sentence: Phrase
}

/** One change for each limit, even if several parts of it changed. */
function compareLimit({ before, after }: Sides<Limit>): readonly SettingChange[] {
  const aspects = aspectsOf({ before, after })
  const [first, ...others] = new Set(aspects.map(({ direction }) => direction))
  if (first === undefined) return []
  const sentences = aspects.map((aspect) => aspect.sentence)
  const sentence = say`rate limit of ${after.name} ${listed(sentences, say`, `)}`
  const direction = others.length === 0 ? first : 'either'
  return [{ kind: 'limit', direction, name: after.name, before: contentOf(before), after: contentOf(after), sentence }]
}

function aspectsOf({ before, after }: Sides<Limit>): readonly Aspect[] {
  const [oldMatch, newMatch] = [matchPhrase(before.match), matchPhrase(after.match)]
  const aspects: readonly (Aspect & { readonly same: boolean })[] = [
    {
      same: before.allow === after.allow,
      direction: before.allow < after.allow ? 'widening' : 'narrowing',
      sentence: say`${before.allow} -> ${after.allow}`,
    },
    {
      same: before.windowMs === after.windowMs,
      direction: before.windowMs > after.windowMs ? 'widening' : 'narrowing',
      sentence: say`window ${inUnits(before.windowMs, DURATIONS)} -> ${inUnits(after.windowMs, DURATIONS)}`,
    },
    { same: before.per === after.per, direction: 'either', sentence: say`per ${before.per} -> ${after.per}` },
    {
      same: plainText(oldMatch) === plainText(newMatch),
      direction: matchDirection(before.match, after.match),
      sentence: say`counts ${oldMatch} -> ${newMatch}`,
    },
  ]
  return aspects.filter(({ same }) => !same)
}

/** A limit counts those who hold its role or inherit it, so a `g` line changes which callers it counts. */
function compareHolders(policies: Sides<Policy>, limits: Sides<Limit>): readonly SettingChange[] {
  const { name, match } = limits.after
  const { role } = match
  if (role === undefined || role !== limits.before.match.role) return []
  const heirs = sidesOf((side) => [...heirsOf(policies[side], role)])
  const sides = sidesOf((side) => heirs[side].toSorted())
  return cameAndWent(heirs, (roles, came) => {
    const sentence = say`rate limit of ${name} ${came ? say`also counts` : say`no longer counts`} ${listed(roles)}`
    return { kind: 'limit-role', direction: came ? 'narrowing' : 'widening', name, ...sides, sentence }
  })
}

/** Fewer conditions count more requests. */
function matchDirection(before: LimitMatch, after: LimitMatch): Direction {
  const [old, now] = [conditionsOf(before), conditionsOf(after)]
  const within = (some: ReadonlyMap<string, string>, all: ReadonlyMap<string, string>) =>
    [...some].every(([key, value]) => all.get(key) === value)
  if (within(now, old)) return 'narrowing'
  return within(old, now) ? 'widening' : 'either'
}

/** The role `everyone` restricts nothing. */
function conditionsOf(match: LimitMatch): ReadonlyMap<string, string> {
  return new Map(Object.entries(match).filter(([key, value]) => key !== 'role' || value !== 'everyone'))
}

function matchPhrase(match: LimitMatch): Phrase {
  const conditions = [...conditionsOf(match)].sort().map(([key, value]) => say`${key} ${value}`)
  return conditions.length === 0 ? say`every request` : listed(conditions)
}

/** Limits that only one side names. Two with the same content are one renamed limit: only headers show its name. */
function compareOthers({ before, after }: Sides<readonly Limit[]>): readonly SettingChange[] {
  const pairs = before.flatMap((old): Sides<Limit>[] => {
    const now = after.find((limit) => contentOf(limit) === contentOf(old))
    return now ? [{ before: old, after: now }] : []
  })
  const isAlone = (limit: Limit) => !pairs.some((pair) => pair.before === limit || pair.after === limit)
  const change = (direction: Direction, name: string, sides: Sides<string | null>, sentence: Phrase): SettingChange => {
    return { kind: 'limit', direction, name, ...sides, sentence }
  }
  return [
    ...pairs.map(({ before: { name: old }, after: { name } }) =>
      change('neutral', name, { before: old, after: name }, say`rate limit ${old} is now named ${name}`),
    ),
    ...after.filter(isAlone).map((limit) => {
      const sentence = say`rate limit ${limit.name} is new: ${contentPhrase(limit)}`
      return change('narrowing', limit.name, { before: null, after: contentOf(limit) }, sentence)
    }),
    ...before.filter(isAlone).map((limit) => {
      const sentence = say`rate limit ${limit.name} is gone: ${contentPhrase(limit)}`
      return change('widening', limit.name, { before: contentOf(limit), after: null }, sentence)
    }),
  ]
}

function contentOf(limit: Limit): string {
  return plainText(contentPhrase(limit))
}

function contentPhrase({ allow, windowMs, per, match }: Limit): Phrase {
  return say`${allow} in ${inUnits(windowMs, DURATIONS)} per ${per}, counts ${matchPhrase(match)}`
}

export function compareSizes(policies: Sides<Policy>): readonly SettingChange[] {
  const [before, after] = [policies.before.limits, policies.after.limits]
  return [
    ...compareBytes('body', before.bodyBytes, after.bodyBytes),
    ...compareBytes('object', before.objectBytes, after.objectBytes),
    ...compareBytes('answer', before.answerBytes, after.answerBytes),
    ...comparePage('max', before, after),
    ...comparePage('default', before, after),
  ]
}

function compareBytes(name: 'body' | 'object' | 'answer', old: number, now: number): readonly SettingChange[] {
  if (old === now) return []
  const [before, after] = [inUnits(old, SIZES), inUnits(now, SIZES)]
  const sentence = say`largest ${name} ${before} -> ${after}`
  return [{ kind: `${name}-size`, direction: growth(old, now), name, before, after, sentence }]
}

/** A client may always ask for the largest page, so the default doesn't change what is possible. */
function comparePage(name: 'max' | 'default', { page: old }: Limits, { page: now }: Limits): readonly SettingChange[] {
  const [before, after] = [old[name], now[name]]
  if (before === after) return []
  const direction = name === 'max' ? growth(before, after) : 'neutral'
  const sentence = say`${name === 'max' ? say`largest` : say`default`} page ${before} -> ${after}`
  return [{ kind: 'page-size', direction, name, before, after, sentence }]
}

function growth(before: number, after: number): 'widening' | 'narrowing' {
  return after > before ? 'widening' : 'narrowing'
}

type Units = readonly (readonly [unit: string, size: number])[]

const SIZES: Units = Object.entries({ mb: 1024 * 1024, kb: 1024, b: 1 })

/** From milliseconds. */
const DURATIONS: Units = Object.entries({ h: 3_600_000, m: 60_000, s: 1000 })

/** In the notation of limits.yaml, never rounded: in the largest unit that divides the value. */
function inUnits(value: number, units: Units): string {
  const [unit, size] = units.find(([, one]) => value % one === 0) ?? ['', 1]
  return `${value / size}${unit}`
}
