/** Conditions of requests whose meaning changed. New and deleted conditions count only through the rules that use them. */

import type { Policy } from '../../decide/policy.ts'
import {
  describeCondition,
  isConditionWithin,
  meaningOfCondition,
  type RequestCondition,
} from '../../decide/request-conditions/all-conditions.ts'
import { say } from '../../present/phrase.ts'
import type { Sides } from '../compare.ts'
import type { SettingChange } from './change.ts'
import { directionFrom, type Reach, usesIn } from './uses.ts'

export function compareConditions({ before, after }: Sides<Policy>): readonly SettingChange[] {
  return [...before.conditions].flatMap(([name, old]): SettingChange[] => {
    const now = after.conditions.get(name)
    if (!now || meaningOfCondition(now) === meaningOfCondition(old)) return []
    const texts = { before: describeCondition(old), after: describeCondition(now) }
    const sentence = say`condition ${name}: ${texts.before} -> ${texts.after}`
    const uses = [before, after].flatMap(({ rules }) => usesIn(rules, (term) => term.name === name))
    const direction = directionFrom(reachOf({ before: old, after: now }), uses)
    return [{ kind: 'condition', direction, name, ...texts, sentence }]
  })
}

/** Undefined where neither is known to hold whenever the other does. */
function reachOf({ before, after }: Sides<RequestCondition>): Reach | undefined {
  if (isConditionWithin(before, after)) return 'more'
  return isConditionWithin(after, before) ? 'fewer' : undefined
}
