/** callers.yaml: what an asking service may assert in one policy and not in the other. More trust widens. */

import { type CallerEntry, DEFAULT_TRUST, type SubjectSource, type Trust } from '../../decide/grants/trust.ts'
import type { Policy } from '../../decide/policy.ts'
import { type Phrase, say } from '../../present/phrase.ts'
import type { Sides } from '../compare.ts'
import type { Direction, SettingChange } from './change.ts'

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
interface Part {
  readonly what: Phrase
  readonly text: string
  /** Among the texts that one thing may have, more is more trust; equal ones differ otherwise. */
  readonly rank: number
}

/** By words that name the thing. Without an entry, the defaults. */
function partsOf(entry: CallerEntry | undefined): ReadonlyMap<string, Part> {
  const { subjects, words, understandsFields, aliases, conditions, profiles }: Trust = entry ?? DEFAULT_TRUST
  return new Map<string, Part>([
    ...[...subjects].flatMap(([type, source]) => subjectParts(type, source)),
    ...[...words].map((resource) => part(say`attributes of ${resource}`, 'told')),
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

const SOURCES: readonly SubjectSource['kind'][] = ['token', 'directory', 'word']

function subjectParts(type: string, source: SubjectSource): readonly (readonly [string, Part])[] {
  const from = part(say`subject ${type}`, source.kind, 1 + SOURCES.indexOf(source.kind))
  const roles = source.kind === 'word' ? [...source.roles] : []
  return [from, ...roles.map((role) => part(say`role ${role} of ${type}`, 'told'))]
}

function part(what: Phrase, text: string, rank = 1): readonly [string, Part] {
  return [JSON.stringify(what), { what, text, rank }]
}

function partChange(name: string, before: Part | undefined, after: Part | undefined): readonly SettingChange[] {
  const part = after ?? before
  if (!part || before?.text === after?.text) return []
  const texts = { before: before?.text ?? null, after: after?.text ?? null }
  const none = say`none`
  const sentence = say`caller ${name}: ${part.what} ${texts.before ?? none} -> ${texts.after ?? none}`
  return [{ kind: 'caller', direction: directionOf(before, after), name, ...texts, sentence }]
}

function directionOf(before: Part | undefined, after: Part | undefined): Direction {
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
