/** Everything that a server's database holds, read past the program. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestServer } from '../server.ts'

/** What timers keep of decision logs: the newest checkpoint, and what instances sign. */
const OF_THE_LOG = /^\{"name":"(?:decision log|log offer|log cosigned) /

/** All rows of all tables by the table's name, as JSON; equal before and after when nothing changed. */
export function dump({ folder }: TestServer): Readonly<Record<string, readonly string[]>> {
  const database = new DatabaseSync(join(folder, 'data/sallyport.db'), { readOnly: true })
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
    const rows = (name: string) => database.prepare(`SELECT * FROM "${name}"`).all()
    return Object.fromEntries(
      tables.map(({ name }) => [
        String(name),
        rows(String(name))
          .map((row) => JSON.stringify(row))
          .filter((row) => !OF_THE_LOG.test(row))
          .sort(),
      ]),
    )
  } finally {
    database.close()
  }
}
