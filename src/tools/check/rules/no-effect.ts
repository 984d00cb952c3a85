/** Rules without effect: all grants stay equal without them. without-effect.ts finds them, this file reports them. */
import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import { type CheckedPolicy, linesText, type PolicyCheck, warning } from '../check.ts'
import { findWithoutEffect, type NeedlessRule } from '../reach/without-effect.ts'
import { duplicatesOf } from './duplicates.ts'

export const rulesWithoutEffect: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'rule-under-deny',
      meaning: 'The allow can never take effect: a deny, which always wins, takes away everything that it grants',
      mend: 'Delete the line, or narrow the deny that the message names',
    },
    {
      code: 'rule-covered',
      meaning: 'The line adds nothing: the lines that the message names already say all of it, about the same callers',
      mend: 'Delete the line; if it should be narrower than the other line, delete or narrow that one',
    },
    {
      code: 'deny-without-allow',
      meaning:
        'The deny takes nothing away: no caller that it matches is allowed any of it, or other denies already take ' +
        'it away',
      mend:
        'Delete the line; to keep it as a safeguard against a later allow, suppress the warning and give ' +
        'the reason',
    },
  ],
  find: ({ policy, index, placeOfLine }) => {
    // Duplicate lines have a finding of their own; ten thousand of them would make each other needless one by one.
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
    const message = 'this deny takes nothing away: no caller that it matches is allowed any of it'
    return warning(place, 'deny-without-allow', message, 'delete it, or suppress this and give the reason')
  }
  const lines = linesText(needless.by.map(({ line }) => line))
  if (needless.kind === 'under-deny') {
    const verb = needless.by.length === 1 ? 'denies' : 'deny'
    const message = `this allow can never take effect: ${lines} ${verb} all of it`
    return warning(place, 'rule-under-deny', message, 'delete it, or narrow the deny')
  }
  const verb = needless.by.length === 1 ? "doesn't" : "don't"
  const ends = needless.rule.until === undefined ? '' : `, which ${verb} end before it`
  return warning(
    place,
    'rule-covered',
    `this line adds nothing to ${lines}${ends}`,
    'delete it, or narrow the wider line',
  )
}
