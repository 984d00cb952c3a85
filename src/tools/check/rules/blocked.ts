/** Lines of blocked.txt that count for nothing. */
import { type CheckedBlocked, check, type PolicyCheck } from '../check.ts'
import { trailingSpaces } from './files.ts'
import { twice } from './redundant-lines.ts'
import { unknownUser } from './unused.ts'

export const BLOCKED_CHECKS: readonly PolicyCheck<CheckedBlocked>[] = [
  check({
    code: 'duplicate-block',
    find: ({ blocks }) =>
      [...twice(blocks, ({ id }) => [id])].map(([{ id, place: at }, first]) => {
        const message = `\`user:${id}\` is blocked in line ${first.place.line} too; the line that blocks longest counts`
        return { at, message, hint: 'delete one of them' }
      }),
  }),
  check({
    code: 'block-expired',
    find: ({ blocks, now }) =>
      blocks
        .filter(({ until }) => until !== undefined && until <= now)
        .map(({ id, place: at }) => {
          const message = `\`user:${id}\` is no longer blocked: the block has ended`
          return { at, message, hint: 'delete the line, or write a later time' }
        }),
  }),
  check({
    code: 'unknown-user',
    find: ({ blocks, directory }) =>
      blocks
        .filter(({ id }) => directory && !directory.has(id))
        .map(({ id, place }) => unknownUser(place, `user:${id}`)),
  }),
  check({ code: 'trailing-space', find: ({ file }) => trailingSpaces(file) }),
]
