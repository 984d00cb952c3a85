/** Rules without which everything would be granted all the same. without-effect.ts finds them; here they get words. */
import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import { type Check, type CheckedPolicy, linesText, warning } from '../check.ts'
import { findWithoutEffect, type NeedlessRule } from '../reach/without-effect.ts'
import { duplicatesOf } from './duplicates.ts'

export const rulesWithoutEffect: Check<CheckedPolicy> = {
  codes: [
    {
      code: 'rule-under-deny',
      meaning: 'The allow can never take effect: a deny, which always wins, takes away all that it grants',
      mend: 'Delete the line, or narrow the deny that is named',
    },
    {
      code: 'rule-covered',
      meaning: 'The line adds nothing: other lines, which are named, already say all that it says, to the same callers',
      mend: 'Delete the line; if it was meant to be narrower than the other one, delete or narrow the other one',
    },
    {
      code: 'deny-without-allow',
      meaning:
        'The deny takes nothing away: nobody whom it could concern is allowed any of it, or other denies take it from all of them',
      mend: 'Delete the line; to keep it as a safeguard against a later allow, suppress the warning and say so',
    },
  ],
  find: ({ policy, index, placeOfLine }) => {
    // A line that stands twice is told as that; ten thousand of them would make each other needless one by one.
    const duplicates = duplicatesOf(policy.rules)
    for (const rule of duplicates.keys()) index.remove(rule)
    const found = findWithoutEffect(
      index,
      policy.rules.filter((rule) => !duplicates.has(rule)),
    )
    for (const rule of duplicates.keys()) index.restore(rule)
    return found.map((one) => findingOf(one, placeOfLine(one.rule.line)))
  },
}

function findingOf(needless: NeedlessRule, place: Place): Diagnostic {
  if (needless.kind === 'nothing-to-deny') {
    const message = 'this deny takes nothing away: nobody whom it could concern is allowed any of it'
    return warning(place, 'deny-without-allow', message, 'delete it, or keep it as a safeguard and say why')
  }
  const lines = linesText(needless.by.map(({ line }) => line))
  if (needless.kind === 'under-deny') {
    const verb = needless.by.length === 1 ? 'denies' : 'deny'
    const message = `this allow can never take effect: ${lines} ${verb} all of it`
    return warning(place, 'rule-under-deny', message, 'delete it, or narrow the deny')
  }
  const message = `this line adds nothing to ${lines}${needless.rule.until === undefined ? '' : `, which ${needless.by.length === 1 ? "doesn't" : "don't"} end before it`}`
  return warning(place, 'rule-covered', message, 'delete it, or narrow the wider one')
}
