/** roles.yaml and blocked.txt: the roles, who holds them, and who is refused before any rule. */

import { timeText } from '../../base/time.ts'
import type { Block, Policy } from '../../decide/policy.ts'
import { type Blocked, isBlocked } from '../../policy/parse/parse-blocked.ts'
import { listed, type Phrase, say } from '../../present/phrase.ts'
import { type Sides, sidesOf } from '../compare.ts'
import type { SettingChange } from './change.ts'

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
  const { before, after } = sidesOf((side) => policies[side].roles.get(name)?.claims ?? [])
  const change = (direction: 'widening' | 'narrowing', values: readonly string[]): readonly SettingChange[] => {
    if (values.length === 0) return []
    const verb = direction === 'widening' ? say`comes with` : say`no longer comes with`
    const noun = values.length === 1 ? say`value` : say`values`
    const sentence = say`role ${name} ${verb} the OpenID claim ${noun} ${listed(values)}`
    return [{ kind: 'role-claims', direction, name, before, after, sentence }]
  }
  const added = after.filter((value) => !before.includes(value))
  const removed = before.filter((value) => !after.includes(value))
  return [...change('widening', added), ...change('narrowing', removed)]
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
