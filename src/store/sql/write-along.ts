/** What a delete does with the objects that referred to the deleted one, in its transaction. */
import type { AlongPermit } from '../../decide/permits/permit.ts'
import { StaleObject } from '../errors.ts'
import { deleteAll, type SqlObjects } from './objects.ts'
import type { SqlDialect, Work } from './statement.ts'

interface AlongParts {
  readonly dialect: SqlDialect
  readonly objectsOf: (resource: string) => SqlObjects
  /** RFC 3339. */
  readonly time: string
}

/** Throws StaleObject when an object hasn't the version of its permit any more. */
export function* writeAlong(along: readonly AlongPermit[], { dialect, objectsOf, time }: AlongParts): Work<void> {
  for (const [resource, permits] of Map.groupBy(along, (one) => one.resource)) {
    const objects = objectsOf(resource)
    const changed = permits.filter(({ kind }) => kind === 'update')
    if (changed.length > 0) yield* objects.rewriteAll(changed, time)
    const gone = permits.filter(({ kind }) => kind === 'delete')
    if (gone.length > 0 && (yield* deleteAll(objects.name, gone, dialect)) < gone.length) throw new StaleObject()
  }
}
