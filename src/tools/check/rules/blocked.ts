/** Lines of blocked.txt that count for nothing. */
import { type CheckedBlocked, check, type PolicyCheck } from '../check.ts'
import { TRAILING_SPACE, trailingSpaces } from './files.ts'
import { twice } from './redundant-lines.ts'
import { UNKNOWN_USER, unknownUser } from './unused.ts'

export const BLOCKED_CHECKS: readonly PolicyCheck<CheckedBlocked>[] = [
  check({
    code: 'duplicate-block',
    meaning: '`blocked.txt` names a user twice; the line that blocks longest counts',
    fix: 'Delete the line that blocks for a shorter time',
    find: ({ blocks }) =>
      [...twice(blocks, ({ id }) => [id])].map(([{ id, place: at }, first]) => {
        const message = `\`user:${id}\` is blocked in line ${first.place.line} too; the line that blocks longest counts`
        return { at, message, hint: 'delete one of them' }
      }),
  }),
  check({
    code: 'block-expired',
    meaning: 'The block has ended: the line blocks nobody',
    fix: 'Delete the line, or write a later time',
    find: ({ blocks, now }) =>
      blocks
        .filter(({ until }) => until !== undefined && until <= now)
        .map(({ id, place: at }) => {
          const message = `\`user:${id}\` is no longer blocked: the block has ended`
          return { at, message, hint: 'delete the line, or write a later time' }
        }),
  }),
  check({
    ...UNKNOWN_USER,
    find: ({ blocks, directory }) =>
      blocks
        .filter(({ id }) => directory && !directory.has(id))
        .map(({ id, place }) => unknownUser(place, `user:${id}`)),
  }),
  check({ ...TRAILING_SPACE, find: ({ file }) => trailingSpaces(file) }),
]
