/** Users by name: in rules and in blocked.txt. */
import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import { CELL, type CheckedBlocked, type CheckedPolicy } from '../checked.ts'
import { type Check, type CodeEntry, warning } from '../finding.ts'

const unknownUser: readonly CodeEntry[] = [
  {
    code: 'unknown-user',
    meaning:
      'A line is about a user whom the directory has never seen, which may be a slip of the pen (only with `--directory`)',
    mend: 'Write the id as the directory has it; for somebody who is still to come, suppress the warning and say so',
  },
]

export const unknownUsersInRules: Check<CheckedPolicy> = {
  codes: unknownUser,
  find: ({ policy, directory, placeOfLine }) => {
    if (!directory) return []
    return policy.rules
      .filter(({ subject }) => subject.startsWith('user:') && !directory.has(subject.slice('user:'.length)))
      .map(({ line, subject }) => neverSeen(placeOfLine(line, CELL.subject), subject))
  },
}

export const unknownUsersInBlocked: Check<CheckedBlocked> = {
  codes: unknownUser,
  find: ({ blocks, directory }) => {
    if (!directory) return []
    return blocks.filter(({ id }) => !directory.has(id)).map(({ id, place }) => neverSeen(place, `user:${id}`))
  },
}

function neverSeen(place: Place, subject: string): Diagnostic {
  const hint = 'write the id as the directory has it, or delete the line'
  return warning(place, 'unknown-user', `the directory has never seen \`${subject}\``, hint)
}
