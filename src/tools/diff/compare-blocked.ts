/** blocked.txt: who is refused before any rule, and until when. */

import type { Block } from '../../decide/policy.ts'
import { type Blocked, isBlocked } from '../../policy/parse/parse-blocked.ts'
import { type Phrase, say } from '../../present/phrase.ts'
import type { SettingChange } from './change.ts'
import type { Sides } from './decisions/relation-space.ts'

/** A block that has ended at `now`, in milliseconds since the epoch, is none. */
export function compareBlocked({ before, after }: Sides<Blocked>, now: number): readonly SettingChange[] {
  const ids = new Set([...before.keys(), ...after.keys()])
  const blockIn = (blocked: Blocked, id: string) => (isBlocked(blocked, id, now) ? blocked.get(id) : undefined)
  return [...ids].sort().flatMap((id) => compareBlock(`user:${id}`, blockIn(before, id), blockIn(after, id)))
}

function compareBlock(name: string, old: Block | undefined, now: Block | undefined): readonly SettingChange[] {
  if (endOf(old) === endOf(now)) return []
  const direction = endOf(now) > endOf(old) ? 'narrowing' : 'widening'
  const sides = { before: old ? untilText(old) : null, after: now ? untilText(now) : null }
  return [{ kind: 'blocked', direction, name, ...sides, sentence: sentenceOf(name, old, now) }]
}

/** Who isn't blocked is blocked until before all times. */
function endOf(block: Block | undefined): number {
  if (!block) return Number.NEGATIVE_INFINITY
  return block.until ?? Number.POSITIVE_INFINITY
}

function sentenceOf(name: string, old: Block | undefined, now: Block | undefined): Phrase {
  if (!now) return say`${name} is no longer blocked`
  if (!old) return now.until === undefined ? say`${name} is blocked` : say`${name} is blocked until ${untilText(now)}`
  return say`${name} is blocked until ${untilText(old)} -> ${untilText(now)}`
}

function untilText({ until }: Block): string {
  return until === undefined ? 'forever' : new Date(until).toISOString().replace('.000Z', 'Z')
}
