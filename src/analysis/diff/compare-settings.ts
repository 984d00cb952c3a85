/** Settings beside the rules: roles and blocks, what routes and records show, and what other services may assert. */

import { timeText } from '../../base/time.ts'
import { isBlocked } from '../../decide/decide.ts'
import { type CallerEntry, DEFAULT_TRUST, type SubjectSource, type Trust } from '../../decide/grants/trust.ts'
import { type Block, namesMasked, type Policy, type Subscription } from '../../decide/policy.ts'
import type { Blocked } from '../../policy/parse/parse-blocked.ts'
import { listed, type Phrase, plainText, say } from '../../present/phrase.ts'
import type { Resources } from '../../resources/resource.ts'
import { type Sides, sidesOf } from '../compared-space.ts'
import { cameAndWent, type Direction, type SettingChange } from './change.ts'

export function compareRoles(policies: Sides<Policy>): readonly SettingChange[] {
  const names = new Set([...policies.before.roles.keys(), ...policies.after.roles.keys()])
  return [...names].flatMap((name) => [...compareRole(name, policies), ...compareClaims(name, policies)])
}

function compareRole(name: string, policies: Sides<Policy>): readonly SettingChange[] {
  const { before: old, after: now } = sidesOf((side) => policies[side].roles.get(name))
  const base = { name, direction: 'neutral' } as const
  if (!old || !now) {
    const sentence = now ? say`role ${name} is declared` : say`role ${name} is no longer declared`
    return [{ ...base, kind: 'role', before: old !== undefined, after: now !== undefined, sentence }]
  }
  if (old.privileged === now.privileged) return []
  const sentence = now.privileged
    ? say`role ${name} is marked privileged`
    : say`role ${name} is no longer marked privileged`
  return [{ ...base, kind: 'privileged', before: old.privileged, after: now.privileged, sentence }]
}

/** The claims of the OpenID provider that give a caller the role. */
function compareClaims(name: string, policies: Sides<Policy>): readonly SettingChange[] {
  const claims = sidesOf((side) => policies[side].roles.get(name)?.claims ?? [])
  return cameAndWent(claims, (values, came) => {
    const verb = came ? say`comes with` : say`no longer comes with`
    const noun = values.length === 1 ? say`value` : say`values`
    const sentence = say`role ${name} ${verb} the OpenID claim ${noun} ${listed(values)}`
    return { kind: 'role-claims', direction: came ? 'widening' : 'narrowing', name, ...claims, sentence }
  })
}

/** Ignores blocks that have ended at `now`, in milliseconds since the epoch. */
export function compareBlocked({ before, after }: Sides<Blocked>, now: number): readonly SettingChange[] {
  const ids = new Set([...before.keys(), ...after.keys()])
  const blockIn = (blocked: Blocked, id: string) => (isBlocked(blocked, id, now) ? blocked.get(id) : undefined)
  return [...ids].sort().flatMap((id) => compareBlock(`user:${id}`, blockIn(before, id), blockIn(after, id)))
}

function compareBlock(name: string, old: Block | undefined, now: Block | undefined): readonly SettingChange[] {
  if (endOf(old) === endOf(now)) return []
  const direction = endOf(now) > endOf(old) ? 'narrowing' : 'widening'
  const sides = { before: old ? untilText(old) : null, after: now ? untilText(now) : null }
  return [{ kind: 'blocked', direction, name, ...sides, sentence: blockPhrase(name, old, now) }]
}

/** A missing block ends before all times. */
function endOf(block: Block | undefined): number {
  if (!block) return Number.NEGATIVE_INFINITY
  return block.until ?? Number.POSITIVE_INFINITY
}

function blockPhrase(name: string, old: Block | undefined, now: Block | undefined): Phrase {
  if (!now) return say`${name} is no longer blocked`
  if (!old) return now.until === undefined ? say`${name} is blocked` : say`${name} is blocked until ${untilText(now)}`
  return say`${name} is blocked until ${untilText(old)} -> ${untilText(now)}`
}

function untilText({ until }: Block): string {
  return until === undefined ? 'forever' : timeText(until)
}

// ---- views.yaml where routes use it, and masks.yaml: which fields routes show, and which fields decision records
// hold.

/** The view of a route limits what the route shows, whatever rules grant. */
export function compareRouteViews(policies: Sides<Policy>, { routes }: Resources): readonly SettingChange[] {
  return routes.flatMap(({ view, resource, path }) => {
    if (view === undefined) return []
    const shown = sidesOf((side) => [...(policies[side].views.get(resource)?.get(view) ?? [])])
    const sides = sidesOf((side) => shown[side].toSorted())
    return cameAndWent(shown, (fields, came) => {
      const verb = came ? say`also shows` : say`no longer shows`
      const sentence = say`route ${path} ${verb} ${fields.length === 1 ? say`field` : say`fields`} ${listed(fields)}`
      return {
        kind: 'route-view',
        direction: came ? 'widening' : 'narrowing',
        name: path,
        resource,
        ...sides,
        sentence,
      }
    })
  })
}

/** Masks change what readers of the log see. They change no decision. */
export function compareMasks(policies: Sides<Policy>): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => new Set(namesMasked(policies[side])))
  const change = (name: string, was: boolean): SettingChange => ({
    kind: 'mask',
    direction: 'neutral',
    name,
    before: was,
    after: !was,
    sentence: was ? say`decision records hold ${name} from now on` : say`decision records mask ${name} from now on`,
  })
  return [
    ...[...before.difference(after)].map((name) => change(name, true)),
    ...[...after.difference(before)].map((name) => change(name, false)),
  ]
}

// ---- guarantees.yaml. Those about rules change no decision, but what later versions may decide.

export function compareGuarantees(policies: Sides<Policy>): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => {
    const { guarantees, roleGuarantees, ratchets } = policies[side]
    return new Map(
      [...guarantees, ...roleGuarantees, ...ratchets].map(({ place, ...said }) => [said.name, JSON.stringify(said)]),
    )
  })
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [old, now] = [before.get(name) ?? null, after.get(name) ?? null]
    if (old === now) return []
    const verb =
      old === null ? say`is promised` : now === null ? say`is no longer promised` : say`is promised otherwise`
    const sentence = say`guarantee ${name} ${verb}`
    return [{ kind: 'guarantee', direction: 'neutral', name, before: old, after: now, sentence }]
  })
}

// ---- subscriptions.yaml: where events go. Who may see them is what the rules say of the key.

export function compareSubscriptions(policies: Sides<Policy>): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => new Map(policies[side].subscriptions.map((one) => [one.name, one])))
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [old, now] = [before.get(name), after.get(name)]
    const ways = { before: wayOf(old), after: wayOf(now) }
    const texts = { before: ways.before && plainText(ways.before), after: ways.after && plainText(ways.after) }
    const resource = (now ?? old)?.resource
    if (texts.before === texts.after || resource === undefined) return []
    const direction = texts.after === null ? 'narrowing' : texts.before === null ? 'widening' : 'either'
    const none = say`nobody`
    const sentence = say`subscription ${name}: events go to ${ways.before ?? none} -> ${ways.after ?? none}`
    return [{ kind: 'subscription', direction, name, resource, ...texts, sentence }]
  })
}

/** Null if nothing is sent. The number of the secret changes nothing about what is sent. */
function wayOf(one: Subscription | undefined): Phrase | null {
  return one?.enabled ? say`${one.url} by key ${one.key} from ${one.path}` : null
}

// ---- callers.yaml: what a PEP may assert in one policy and not in the other. More trust widens.

export function compareTrust({ before, after }: Sides<Policy>): readonly SettingChange[] {
  const names = new Set([...before.callers.keys(), ...after.callers.keys()])
  return [...names].flatMap((name) => {
    const entries = { before: before.callers.get(name), after: after.callers.get(name) }
    const parts = { before: partsOf(entries.before), after: partsOf(entries.after) }
    const keys = new Set([...parts.before.keys(), ...parts.after.keys()])
    return [
      ...boundChange(name, entries),
      ...[...keys].flatMap((key) => partChange(name, parts.before.get(key), parts.after.get(key))),
    ]
  })
}

/** A thing that the service may assert. */
interface Vouched {
  readonly what: Phrase
  readonly text: string
  /** Among the texts that one thing may have, more is more trust; equal ones differ otherwise. */
  readonly rank: number
}

/** By words that name the thing. Without an entry, the defaults. */
function partsOf(entry: CallerEntry | undefined): ReadonlyMap<string, Vouched> {
  const { subjects, assertedResources, understandsFields, aliases, conditions, profiles }: Trust =
    entry ?? DEFAULT_TRUST
  return new Map<string, Vouched>([
    ...[...subjects].flatMap(([type, source]) => subjectParts(type, source)),
    ...[...assertedResources].map((resource) => part(say`attributes of ${resource}`, 'asserted')),
    ...(understandsFields ? [part(say`fields`, 'understood')] : []),
    ...[...aliases].flatMap(([resource, names]) =>
      [...names].map(([alias, action]) => part(say`action ${alias} of ${resource}`, action)),
    ),
    ...[...conditions].map(([name, by]) => part(say`condition ${name}`, `${by.in}.${by.member}`)),
    ...(entry?.addresses ?? []).map((network) => part(say`address ${network}`, 'proves it')),
    ...(profiles ? [...profiles].map((name) => part(say`profile ${name}`, PROFILE)) : [part(say`profile`, 'each')]),
  ])
}

/** Named profiles take the place of `each`, so a new one may be less than before. */
const PROFILE = 'usable'

const SOURCES: readonly SubjectSource['kind'][] = ['token', 'directory', 'asserted']

function subjectParts(type: string, source: SubjectSource): readonly (readonly [string, Vouched])[] {
  const from = part(say`subject ${type}`, source.kind, 1 + SOURCES.indexOf(source.kind))
  const roles = source.kind === 'asserted' ? [...source.roles] : []
  return [from, ...roles.map((role) => part(say`role ${role} of ${type}`, 'asserted'))]
}

function part(what: Phrase, text: string, rank = 1): readonly [string, Vouched] {
  return [JSON.stringify(what), { what, text, rank }]
}

function partChange(name: string, before: Vouched | undefined, after: Vouched | undefined): readonly SettingChange[] {
  const part = after ?? before
  if (!part || before?.text === after?.text) return []
  const texts = { before: before?.text ?? null, after: after?.text ?? null }
  const none = say`none`
  const sentence = say`caller ${name}: ${part.what} ${texts.before ?? none} -> ${texts.after ?? none}`
  return [{ kind: 'caller', direction: directionOf(before, after), name, ...texts, sentence }]
}

function directionOf(before: Vouched | undefined, after: Vouched | undefined): Direction {
  const [old, now] = [before?.rank ?? 0, after?.rank ?? 0]
  if (old === now || [before, after].some((part) => part?.text === PROFILE)) return 'either'
  return now > old ? 'widening' : 'narrowing'
}

/** A new entry also bounds what other roles of the same caller let it assert; an entry of a user replaces those. */
function boundChange(
  name: string,
  { before, after }: { readonly before: CallerEntry | undefined; readonly after: CallerEntry | undefined },
): readonly SettingChange[] {
  if ((before === undefined) === (after === undefined)) return []
  const change = { kind: 'caller', name, before: before ? 'an entry' : null, after: after ? 'an entry' : null } as const
  if (name.startsWith('user:')) {
    const sentence = say`caller ${name}: its own entry ${after ? say`counts now` : say`is gone`}, in place of its roles' entries`
    return [{ ...change, direction: 'either', sentence }]
  }
  const verb = after ? say`also bounds` : say`no longer bounds`
  const sentence = say`caller ${name}: its entry ${verb} what other roles of the same caller may assert`
  return [{ ...change, direction: after ? 'narrowing' : 'widening', sentence }]
}
