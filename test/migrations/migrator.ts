/**
 * A process that migrates in small batches, until it has ended or is killed. Arguments: DATABASE_URL, the folder of
 * schemas, the folder of migrations.
 */
import { readMigrations } from '../../src/migrations/file/read-migrations.ts'
import { runMigrations } from '../../src/migrations/run/run-migrations.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { openDatabase, readDatabaseUrl } from '../../src/store/open.ts'

const [url = '', schemas = '', migrations = ''] = process.argv.slice(2)
const database = readDatabaseUrl(url)
if ('fault' in database) throw new Error(database.fault)

const resources = await loadResources(schemas)
const now = () => new Date()
const { store, migrations: state } = await openDatabase(database, { resources, now })
const files = await readMigrations(migrations)
const { kind } = await runMigrations({ store: state, resources, files, now, hidesIds: () => false, atOnce: 7 })
if (kind !== 'ended') throw new Error(`the run is ${kind}`)
await store.close()
