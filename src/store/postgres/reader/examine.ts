/** Looks at a database of PostgreSQL beside its servers, on one connection. */

import { type Checked, clockChecked, faulted, passed, warned } from '../../../base/problems/checked.ts'
import { againWith, shellWord } from '../../../base/problems/fix.ts'
import type { ExamineOptions } from '../../contract.ts'
import type { Examined } from '../../object-reader.ts'
import { storedKeys } from '../../signing-keys.ts'
import { type Ask, done, sql } from '../../sql/statement.ts'
import { laterLayout } from '../../sql/tables.ts'
import { dialerOf } from '../connections/client-options.ts'
import { serverPlace } from '../connections/fix-of-server.ts'
import { Connection } from '../connections/line.ts'
import { nameOfUrl, readPostgresUrl } from '../connections/url.ts'
import { DIALECT } from '../dialect.ts'
import { answering } from '../failures.ts'
import { LAYOUT, tablesIn } from '../layout/migrate.ts'

const CHECK = 'database'

const SILENCE_MS = 3000
const OLDEST = 150_000
/** A process of a server opens some beside its pool: for keys, policies and migrations. */
const BESIDE_POOL = 4

const FACTS = `select current_setting('server_version_num')::int as version,
  current_setting('server_version') as name,
  (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections,
  pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on' as "readOnly",
  coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreate",
  current_setting('server_encoding') as encoding,
  current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as durable,
  current_setting('synchronous_standby_names') <> '' as synchronous,
  coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as tls`

interface DatabaseFacts {
  readonly version: number
  readonly name: string
  readonly now: number
  readonly connections: number
  readonly readOnly: boolean
  readonly mayCreate: boolean
  readonly encoding: string
  readonly durable: boolean
  readonly synchronous: boolean
  readonly tls: boolean
}

/** Throws errors of the contract. */
export function examinePostgres(url: string, options: ExamineOptions): Promise<Examined> {
  return answering(async () => {
    // With the settings of a server: a pooler refuses those that it doesn't pass on.
    const dialer = dialerOf(url, options.connections)
    const connection = await Connection.open(dialer, { silenceMs: SILENCE_MS }, () => undefined)
    try {
      return await look(connection, url, options)
    } finally {
      connection.drop()
    }
  })
}

async function look(connection: Connection, url: string, options: ExamineOptions): Promise<Examined> {
  const begun = performance.now()
  const { fields, rows } = await connection.send({ text: FACTS, values: [] })
  const aroundMs = performance.now() - begun
  const facts = Object.fromEntries(fields.map(({ name }, at) => [name, rows[0]?.[at]])) as unknown as DatabaseFacts
  const ask: Ask = async (asked) => (await connection.send(asked)).rows
  const tables = await tablesIn(ask)
  const [[layout] = []] = tables.has('layout') ? await ask(sql('select number from layout')) : []
  if (Number(layout ?? 0) > LAYOUT) throw laterLayout(Number(layout), LAYOUT)
  const keys = tables.has('signing_keys') ? await done(storedKeys(DIALECT), ask) : undefined
  const state = layout === undefined ? 'without tables yet; the first start makes them' : `layout ${layout}`
  const secured = facts.tls ? 'with TLS' : 'without TLS'
  const answers = passed(CHECK, `${nameOfUrl(url)} answers ${secured}: PostgreSQL ${facts.name}, ${state}`)
  const clock = clockChecked(CHECK, { theirs: Number(facts.now), ours: Date.now(), aroundMs })
  return { checks: [answers, ...faultsOf(facts, url, options), clock], keys }
}

/** Of each pair, what is found where the fact is wrong. */
function faultsOf(facts: DatabaseFacts, url: string, { connections, processes }: ExamineOptions): readonly Checked[] {
  const { again, tool, user, database } = serverPlace(url)
  const psql = (text: string) => `psql ${tool} -d ${shellWord(database)} -c ${shellWord(text)}`
  const hosts = readPostgresUrl(url).each.length
  const wanted = processes * (connections.most + BESIDE_POOL)
  const fitting = Math.floor(facts.connections / processes) - BESIDE_POOL
  const found: readonly (readonly [boolean, Checked])[] = [
    [
      facts.version < OLDEST,
      faulted(CHECK, `PostgreSQL ${facts.name} is too old; 15 or newer is needed`, again({ host: '<host>' })),
    ],
    [facts.readOnly, faulted(CHECK, 'it takes no writes: it is a replica, or read-only', again({ host: '<primary>' }))],
    [
      !facts.mayCreate,
      faulted(CHECK, `${user} may not create tables in it`, psql(`GRANT CREATE, USAGE ON SCHEMA public TO "${user}"`)),
    ],
    [
      facts.encoding !== 'UTF8',
      faulted(
        CHECK,
        `it has the encoding ${facts.encoding}; UTF8 is needed`,
        `createdb ${tool} -E UTF8 -T template0 -O ${shellWord(user)} sallyport`,
      ),
    ],
    [
      !facts.durable,
      warned(
        CHECK,
        'fsync or synchronous_commit is off, so acknowledged writes can be lost',
        psql('ALTER SYSTEM RESET fsync; ALTER SYSTEM RESET synchronous_commit'),
      ),
    ],
    [
      hosts > 1 && !facts.synchronous,
      warned(
        CHECK,
        'no commit waits for a replica (synchronous_standby_names is empty), so a failover can lose acknowledged writes',
      ),
    ],
    [
      connections.pooler === 'none' && wanted > facts.connections,
      warned(
        CHECK,
        `${processes} processes may open ${wanted} connections, but it takes ${facts.connections}`,
        fitting >= 4 ? againWith('DATABASE_POOL', fitting) : psql(`ALTER SYSTEM SET max_connections = ${wanted + 10}`),
      ),
    ],
  ]
  return found.filter(([isWrong]) => isWrong).map(([, checked]) => checked)
}
