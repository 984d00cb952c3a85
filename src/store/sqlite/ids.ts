/** The ids of a resource's objects, read from a database file that stays as it is and may be in use. */
import type { Resource } from '../../resources/resource.ts'
import { openReadOnly } from './database.ts'
import { answering } from './errors.ts'
import { planTable } from './layout/schema.ts'

/** Throws StoreUnavailable, also when the file has no table for the resource. */
export function readIds(file: string, resource: Resource): ReadonlySet<string> {
  return answering(() => {
    const database = openReadOnly(file)
    try {
      // The name of a table holds no quote (sqlite-schema.ts).
      const rows = database.prepare(`select id from "${planTable(resource, []).table}"`).all()
      return new Set(rows.map(({ id }) => String(id)))
    } finally {
      database.close()
    }
  })
}
