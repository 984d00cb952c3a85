/** What has ended: rules of policy.csv, and blocks of blocked.txt. */

import { timeText } from '../../../base/time.ts'
import { lives } from '../../../decide/rules/ends.ts'
import { CELL, type CheckedBlocked, type CheckedPolicy } from '../checked.ts'
import { type Check, warning } from '../finding.ts'

export const expiredRules: Check<CheckedPolicy> = {
  codes: [
    {
      code: 'rule-expired',
      meaning: 'The time after `until=` is past: the line is as if it were not there, and no other check looks at it',
      mend: 'Delete the line, or give it a later time',
    },
  ],
  find: ({ written, now, placeOfLine }) =>
    written.rules
      .filter((rule) => !lives(rule, now))
      .map(({ line, effect, until = now }) => {
        const message = `this line ${effect === 'allow' ? 'allows' : 'denies'} nothing any more: it ended at \`${timeText(until)}\``
        return warning(
          placeOfLine(line, CELL.until),
          'rule-expired',
          message,
          'delete the line, or give it a later time',
        )
      }),
}

export const expiredBlocks: Check<CheckedBlocked> = {
  codes: [
    {
      code: 'block-expired',
      meaning: 'The time after `until=` is past: the line blocks nobody any more',
      mend: 'Delete the line, or give it a later time',
    },
  ],
  find: ({ blocks, now }) =>
    blocks
      .filter(({ until }) => until !== undefined && until <= now)
      .map(({ id, place }) => {
        const message = `\`user:${id}\` is not blocked any more: the time is past`
        return warning(place, 'block-expired', message, 'delete the line, or give it a later time')
      }),
}
