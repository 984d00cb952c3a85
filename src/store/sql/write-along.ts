/** What comes along with a write, in its transaction: other objects that are changed, deleted or created. */
import { type AlongPermit, createdObject } from '../../decide/permits/permit.ts'
import { StaleObject } from '../errors.ts'
import { deleteAll, type SqlObjects } from './objects.ts'
import type { SqlDialect, Work } from './statement.ts'

interface AlongParts {
  readonly dialect: SqlDialect
  readonly objectsOf: (resource: string) => SqlObjects
  /** RFC 3339. */
  readonly time: string
}

/** Throws UniqueTaken, and StaleObject when an object hasn't the version of its permit any more. */
export function* writeAlong(along: readonly AlongPermit[], { dialect, objectsOf, time }: AlongParts): Work<void> {
  for (const [resource, permits] of Map.groupBy(along, (one) => one.resource)) {
    const objects = objectsOf(resource)
    const changed = permits.filter(({ kind }) => kind === 'update')
    if (changed.length > 0) yield* objects.rewriteAll(changed, time)
    const gone = permits.filter(({ kind }) => kind === 'delete')
    const made = permits.filter((one) => one.kind === 'create').map((one) => createdObject(one, time))
    if (made.length > 0) yield* objects.insertAll(made)
    if (gone.length > 0 && (yield* deleteAll(objects.name, gone, dialect)) < gone.length) throw new StaleObject()
  }
}
