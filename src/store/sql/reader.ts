/** The part of the contract's ObjectReader that all engines read alike: rows as they are stored, damaged ones too. */
import type { StoredObject } from '../../resources/object.ts'
import type { Resource } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { StoreUnavailable } from '../errors.ts'
import type { ObjectReader, RowPage, SharingObjects, StoredRow, UndeclaredObjects } from '../object-reader.ts'
import { apiKeys } from './directory.ts'
import { fittedSchemas, storedMigrations } from './migrations.ts'
import { OBJECT_COLUMNS, objectById, objectsAfter, storedObject } from './objects.ts'
import { peopleWith } from './people-with-role.ts'
import { first, quoteName, type Row, type SqlDialect, type Statement, sql, type Work } from './statement.ts'

export interface ReaderEngine {
  readonly dialect: SqlDialect
  read<T>(work: () => Work<T>): Promise<T>
  /** For work that may look at whole tables. */
  readLong<T>(work: () => Work<T>): Promise<T>
  /** The name of the table, not quoted. */
  readonly tableOf: (resource: string) => string
  readonly tablePrefix: string
  /** The opposite of `tableOf`. */
  readonly resourceOf: (table: string) => string
  /** A text that stands for an id, and what it stands for, as SQL. */
  readonly placeSql: (id: string) => string
  readonly idAtSql: (place: string) => string
  /** The value of a field, as an index of unique values compares it; NULL for documents that don't parse. */
  readonly valueSql: (field: string) => string
  /** Further columns, and the fields that they show otherwise than the document. */
  readonly beside: readonly string[]
  readonly disagreeing: (id: string, text: string, beside: Row) => readonly string[]
}

type SqlReader = Omit<ObjectReader, 'find' | 'lookup' | 'checkIndexes' | 'close'>

export function sqlReader(engine: ReaderEngine): SqlReader {
  const { dialect, read, readLong } = engine
  const nameOf = ({ name }: Resource) => engine.tableOf(name)
  /** Nothing without the table. `work` gets its quoted name. */
  const readIn = <T>(resource: Resource, work: (table: string) => Work<T>, nothing: T, by = read): Promise<T> =>
    by(function* () {
      const name = nameOf(resource)
      return (yield* hasTable(dialect, name)) ? yield* work(quoteName(name)) : nothing
    })
  const readObjects = (resource: Resource, select: (table: string) => Statement) =>
    readIn<readonly StoredObject[]>(resource, (table) => objects(select(table), dialect), [])
  return {
    get: async (resource, id) => (await readObjects(resource, (table) => objectById(table, id, dialect)))[0],
    objects: (resource, after, limit) => readObjects(resource, (table) => objectsAfter(table, after, limit, dialect)),
    async ids(resource) {
      const ids = await readIn(resource, (table) => idsIn(sql(`select id from ${table}`), dialect), undefined)
      if (ids) return ids
      throw new StoreUnavailable(new Error(`there is no table \`${nameOf(resource)}\``))
    },
    hasTable: (resource) => read(() => hasTable(dialect, nameOf(resource))),
    count: (resource) => readIn(resource, count, 0, readLong),
    rows: (resource, page) => readIn(resource, (table) => rows(table, page, engine), []),
    existing(resource, ids) {
      const sought = JSON.stringify(ids.filter((id) => id.isWellFormed()).map((id) => [dialect.text(id)]))
      const among = `id in (select s.value ->> 0 from ${dialect.elements('$1')} as s)`
      return readIn(
        resource,
        (table) => idsIn(sql(`select id from ${table} where ${among}`, sought), dialect),
        new Set(),
      )
    },
    shared: (resource, fields, most) =>
      readIn(resource, (table) => shared(table, { fields, most }, engine), { count: 0, ids: [] }, readLong),
    undeclared: (resources) => {
      const declared = new Set(storedResources(resources).map(nameOf))
      return readLong(() => undeclared(declared, engine))
    },
    apiKeys: () =>
      read(function* () {
        return (yield* hasTable(dialect, 'api_keys')) ? yield* apiKeys(dialect) : []
      }),
    peopleWith: (givers, users, now) =>
      readLong(function* () {
        if (!(yield* hasTable(dialect, 'api_keys'))) return 0
        const table = users && (yield* hasTable(dialect, nameOf(users))) ? quoteName(nameOf(users)) : undefined
        return yield* peopleWith({ givers }, { dialect, users: table, now: () => new Date(now) })
      }),
    migrationState: () =>
      read(function* () {
        if (!(yield* hasTable(dialect, 'fitted_schemas'))) return { stored: [], fitted: undefined }
        return { stored: yield* storedMigrations(dialect), fitted: yield* fittedSchemas(dialect) }
      }),
  }
}

function* hasTable({ tables }: SqlDialect, name: string): Work<boolean> {
  return (yield* first(`select 1 from (${tables}) as present where name = $1`, name)) !== undefined
}

function* objects(statement: Statement, dialect: SqlDialect): Work<readonly StoredObject[]> {
  return (yield statement).map((row) => storedObject(row, dialect))
}

function* idsIn(statement: Statement, { fromStored }: SqlDialect): Work<ReadonlySet<string>> {
  return new Set((yield statement).map(([id]) => fromStored(id)))
}

function* count(table: string): Work<number> {
  return Number((yield* first(`select count(*) from ${table}`))?.[0])
}

function* rows(table: string, { after, limit, bytes }: RowPage, engine: ReaderEngine): Work<readonly StoredRow[]> {
  const { dialect, placeSql, idAtSql, beside, disagreeing } = engine
  const following = after === undefined ? '' : `where id > ${idAtSql('$3')}`
  const before = 'sum(octet_length(document)) over (order by id rows between unbounded preceding and 1 preceding)'
  const columns = [OBJECT_COLUMNS, ...beside].join()
  const found = yield sql(
    `select ${placeSql('id')}, ${columns} from (
        select ${columns}, ${before} as before from (
          select ${columns} from ${table} ${following} order by id limit cast($1 as bigint)) as page) as sized
      where before is null or before <= cast($2 as bigint) order by id`,
    limit,
    bytes ?? Number.MAX_SAFE_INTEGER,
    ...(after === undefined ? [] : [after]),
  )
  return found.map(([place, key, version, createdAt, updatedAt, document, ...others]) => {
    const [id, text] = [dialect.fromStored(key), String(document)]
    const times = { createdAt: String(createdAt), updatedAt: String(updatedAt) }
    const disagreed = disagreeing(id, text, others)
    return { id, place: String(place), version: Number(version), ...times, text, disagreeing: disagreed }
  })
}

function* shared(
  table: string,
  { fields, most }: { readonly fields: readonly string[]; readonly most: number },
  { dialect, valueSql }: ReaderEngine,
): Work<SharingObjects> {
  const values = fields.map(valueSql)
  const names = values.map((_, at) => `v${at}`)
  const have = values.map((value) => `${value} is not null`).join(' and ')
  const selected = values.map((value, at) => `${value} as ${names[at]}`).join()
  const twice = `with twice as (select ${selected}, count(*) as n from ${table} as o
    where ${have} group by ${names.map((_, at) => at + 1).join()} having count(*) > 1)`
  const [sharing] = yield sql(`${twice} select coalesce(sum(n), 0) from twice`)
  const those = `(${values.join()}) in (select ${names.join()} from twice) order by id limit cast($1 as bigint)`
  const ids = yield* idsIn(sql(`${twice} select id from ${table} as o where ${those}`, most), dialect)
  return { count: Number(sharing?.[0]), ids: [...ids] }
}

function* undeclared(declared: ReadonlySet<string>, engine: ReaderEngine): Work<readonly UndeclaredObjects[]> {
  const names = (yield sql(engine.dialect.tables)).map(([name]) => String(name))
  const others = names.filter((name) => name.startsWith(engine.tablePrefix) && !declared.has(name)).toSorted()
  const found: UndeclaredObjects[] = []
  for (const table of others) found.push({ resource: engine.resourceOf(table), count: yield* count(quoteName(table)) })
  return found.filter(({ count: stored }) => stored > 0)
}
