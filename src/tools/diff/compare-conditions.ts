/** Conditions of requests whose meaning changed. New and deleted conditions count only through the rules that use them. */
import type { Policy } from '../../decide/policy.ts'
import { describeCondition, meaningOfCondition } from '../../decide/request-conditions/all-conditions.ts'
import { say } from '../../present/phrase.ts'
import type { SettingChange, Sides } from './change.ts'

/** Which requests meet a condition is known only when they come. */
export function compareConditions({ before, after }: Sides<Policy>): readonly SettingChange[] {
  return [...before.conditions].flatMap(([name, old]): SettingChange[] => {
    const now = after.conditions.get(name)
    if (!now || meaningOfCondition(now) === meaningOfCondition(old)) return []
    const texts = { before: describeCondition(old), after: describeCondition(now) }
    const sentence = say`condition ${name}: ${texts.before} -> ${texts.after}`
    return [{ kind: 'condition', direction: 'either', name, ...texts, sentence }]
  })
}
