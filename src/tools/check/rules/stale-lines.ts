/** Finds lines that are out of date: rules and blocks that have ended, and users that are not in the directory. */
import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import { timeText } from '../../../base/time.ts'
import { lives } from '../../../decide/rules/rule-expiry.ts'
import { CELL, type CheckedBlocked, type CheckedPolicy, type CodeEntry, type PolicyCheck, warning } from '../check.ts'

export const expiredRules: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'rule-expired',
      meaning: 'The rule has ended: the server and all other checks ignore the line',
      mend: 'Delete the line, or write a later time',
    },
  ],
  find: ({ written, now, placeOfLine }) =>
    written.rules
      .filter((rule) => !lives(rule, now))
      .map(({ line, effect, until = now }) => {
        const verb = effect === 'allow' ? 'allows' : 'denies'
        const message = `this line ${verb} nothing any more: it ended at \`${timeText(until)}\``
        return warning(placeOfLine(line, CELL.until), 'rule-expired', message, 'delete the line, or write a later time')
      }),
}

export const expiredBlocks: PolicyCheck<CheckedBlocked> = {
  codes: [
    {
      code: 'block-expired',
      meaning: 'The block has ended: the line blocks nobody',
      mend: 'Delete the line, or write a later time',
    },
  ],
  find: ({ blocks, now }) =>
    blocks
      .filter(({ until }) => until !== undefined && until <= now)
      .map(({ id, place }) => {
        const message = `\`user:${id}\` is no longer blocked: the block has ended`
        return warning(place, 'block-expired', message, 'delete the line, or write a later time')
      }),
}

const unknownUser: readonly CodeEntry[] = [
  {
    code: 'unknown-user',
    meaning:
      'A line names a user that is not in the directory, perhaps because of a typing error (only with `--directory`)',
    mend:
      'Write the id as the directory has it; for a user who will be added later, suppress the warning and give the ' +
      'reason',
  },
]

export const unknownUsersInRules: PolicyCheck<CheckedPolicy> = {
  codes: unknownUser,
  find: ({ policy, directory, placeOfLine }) => {
    if (!directory) return []
    return policy.rules
      .filter(({ subject }) => subject.startsWith('user:') && !directory.has(subject.slice('user:'.length)))
      .map(({ line, subject }) => neverSeen(placeOfLine(line, CELL.subject), subject))
  },
}

export const unknownUsersInBlocked: PolicyCheck<CheckedBlocked> = {
  codes: unknownUser,
  find: ({ blocks, directory }) => {
    if (!directory) return []
    return blocks.filter(({ id }) => !directory.has(id)).map(({ id, place }) => neverSeen(place, `user:${id}`))
  },
}

function neverSeen(place: Place, subject: string): Diagnostic {
  const hint = 'write the id as the directory has it, or delete the line'
  return warning(place, 'unknown-user', `the directory has no user \`${subject}\``, hint)
}
