/**
 * The log of changes in the tables of an SQL database. Triggers write it, so no writer can forget to
 * (docs/decisions/0144); each engine makes them in its layout.
 */
import type { StoredObject } from '../../resources/object.ts'
import type { ChangedObject, ChangesAfter, ObjectChange, ObjectChanges, ObjectLife, WrittenBy } from '../changes.ts'
import { DamagedObject } from '../errors.ts'
import { documentIn } from '../parse-stored.ts'
import { storedObject } from './objects.ts'
import {
  first,
  quoteLiteral,
  type Row,
  type SqlDialect,
  type SqlEngine,
  type SqlValue,
  sql,
  type Work,
} from './statement.ts'

/** How often a process that has listeners asks for the commits of all processes. */
const LOOK_MS = 100

/** Of the documents that one read returns, and one more change. */
const MOST_BYTES = 4 * 1024 * 1024

/** Others wait for the transaction. */
const [ENDED_AT_ONCE, REWRITTEN_AT_ONCE] = [500, 50]

/** In place of the number up to which changes may be missing. */
const ALL = Number.MAX_SAFE_INTEGER

export function changesTables({ number, key, strict, outboxNumber }: SqlDialect): readonly string[] {
  return [
    // The columns of an object before a write and after it; null where there is no object.
    `create table if not exists changes (
      number ${outboxNumber}, resource ${key} not null, id ${key} not null, at ${key} not null, written_by text,
      created_at ${key} not null, before_version ${number}, before_updated_at ${key}, before_document text,
      version ${number}, updated_at ${key}, document text) ${strict}`,
    'create index if not exists "changes object" on changes (resource, id, number)',
    'create index if not exists "changes at" on changes (resource, at)',
    // Up to the number `since`, changes of the resource may be missing.
    `create table if not exists kept_changes (
      resource ${key} primary key not null, since ${number} not null, keep_ms ${number} not null) ${strict}`,
  ]
}

type RowSide = 'old' | 'new'

/** What a trigger does. All are SQL; `id`, `createdAt`: where the row of each side has them. */
interface AddedChange {
  readonly resource: string
  readonly at: string
  readonly writtenBy: string
  readonly of: (column: 'id' | 'created_at') => string
  /** Those that the trigger has. */
  readonly sides: readonly RowSide[]
}

export function addChangeSql({ resource, at, writtenBy, of, sides }: AddedChange): string {
  const row = (side: RowSide) =>
    ['version', 'updated_at', 'document'].map((column) => (sides.includes(side) ? `${side}.${column}` : 'null'))
  const values = [resource, of('id'), at, writtenBy, of('created_at'), ...row('old'), ...row('new')]
  return `insert into changes (resource, id, at, written_by, created_at, before_version, before_updated_at,
    before_document, version, updated_at, document) values (${values.join()});`
}

/** Statements; none where the triggers of a table are as they should be. */
interface NewTriggers {
  readonly drop: readonly string[]
  readonly make: readonly string[]
}

/** Makes the triggers that log changes, or removes them. `keepMs`: undefined where none are kept from now on. */
export function* migrateChanges(
  { resource, keepMs }: { readonly resource: string; readonly keepMs: number | undefined },
  { drop, make }: NewTriggers,
): Work<void> {
  const name = quoteLiteral(resource)
  const goOn = `update kept_changes set keep_ms = ${keepMs} where resource = ${name} and since < ${ALL} returning 1`
  const isSame = drop.length + make.length === 0
  if (isSame && (keepMs === undefined || (yield sql(goOn)).length > 0)) return
  // From then on changes are missing. What is kept ends in its time.
  const end = `update kept_changes set since = ${ALL} where resource = ${name}`
  for (const text of [...drop, ...make, ...(keepMs === undefined ? [end] : beginChanges(name, keepMs))]) yield sql(text)
}

/**
 * From now on all changes are kept, and those before may be missing: it takes a number, so that no reader has seen all up
 * to there.
 */
function beginChanges(name: string, keepMs: number): readonly string[] {
  return [
    `insert into changes (resource, id, at, created_at) values (${name}, '', '', '')`,
    `insert into kept_changes select resource, number, ${keepMs} from changes where resource = ${name} and id = ''
      on conflict (resource) do update set since = excluded.since, keep_ms = excluded.keep_ms`,
    `delete from changes where resource = ${name} and id = ''`,
  ]
}

/** Numbers aren't used again, so this also counts changes that have ended. */
const LAST = `select coalesce(max(number), 0) from (
  select max(number) as number from changes union all select max(since) from kept_changes where since < ${ALL}) as numbers`

/** Tells who made the changes of this work, and when. */
export function* attributed<T>(
  { by, time }: { readonly by: WrittenBy; readonly time: string },
  change: Work<T>,
): Work<T> {
  const before = yield* first(LAST)
  const changed = yield* change
  const name = 'update changes set written_by = $1, at = $2 where number > $3'
  yield sql(name, JSON.stringify(by), time, before?.[0] ?? 0)
  return changed
}

export class SqlChanges implements ObjectChanges {
  readonly #engine: SqlEngine
  readonly #listeners = new Set<() => void>()
  #looking: NodeJS.Timeout | undefined
  #seen: string | undefined

  constructor(engine: SqlEngine) {
    this.#engine = engine
  }

  async last(): Promise<number> {
    const [row] = await this.#engine.ask(sql(LAST))
    return Number(row?.[0])
  }

  async after(number: number, limit: number): Promise<ChangesAfter> {
    const changes = await this.#read({ where: 'number > $1', order: 'number', limit }, number)
    // Asked later: what has ended meanwhile is told as missing.
    const rows = await this.#engine.ask(sql('select resource, since from kept_changes'))
    const { fromStored } = this.#engine.dialect
    return { changes, since: new Map(rows.map(([resource, since]) => [fromStored(resource), Number(since)])) }
  }

  of(
    object: ObjectLife,
    { before = ALL, since, limit }: { readonly before?: number; readonly since: string; readonly limit: number },
  ): Promise<readonly ObjectChange[]> {
    const where = `number < $3 and at > $4 and ${lifeSql(object, 5)}`
    return this.#read({ where, order: 'number desc', limit }, ...this.#keyOf(object), before, since, ...born(object))
  }

  async firstAfter(object: ObjectLife, time: string): Promise<ObjectChange | undefined> {
    const where = `at > $3 and ${lifeSql(object, 4)}`
    const [found] = await this.#read(
      { where, order: 'number', limit: 1 },
      ...this.#keyOf(object),
      time,
      ...born(object),
    )
    return found
  }

  firstOfEach(
    resource: string,
    time: string,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<readonly ObjectChange[]> {
    const firsts = 'select min(number) from changes where resource = $1 and at > $2 group by id'
    const where = `number in (${firsts}) and number > $3`
    return this.#read({ where, order: 'number', limit }, this.#engine.dialect.text(resource), time, after)
  }

  #keyOf({ resource, id }: ChangedObject): readonly SqlValue[] {
    const { text, sought } = this.#engine.dialect
    return [text(resource), sought(id)]
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#looking ??= setInterval(() => void this.#look(), LOOK_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#looking)
      this.#looking = this.#seen = undefined
    }
  }

  async expire(): Promise<void> {
    const { ask, write, dialect, now } = this.#engine
    for (const [resource, keepMs] of await ask(sql('select resource, keep_ms from kept_changes'))) {
      const until = new Date(now().getTime() - Number(keepMs)).toISOString()
      let ended = ENDED_AT_ONCE
      while (ended === ENDED_AT_ONCE) {
        ended = await write(() => endSome(dialect.fromStored(resource), until, dialect))
      }
    }
  }

  erase(object: ChangedObject, field: string | undefined): Promise<number> {
    const key = this.#keyOf(object)
    return this.#eraseAll((from) => (field === undefined ? endAll(key) : eraseSome(key, field, from)))
  }

  eraseWriter(subject: string): Promise<number> {
    return this.#eraseAll((from) => eraseWritten(subject, from))
  }

  async #eraseAll(piece: (from: number) => Work<ErasedChanges>): Promise<number> {
    let [erased, place]: [number, number | undefined] = [0, 0]
    while (place !== undefined) {
      const from: number = place
      const done = await this.#engine.write(() => piece(from))
      erased += done.erased
      place = done.place
    }
    return erased
  }

  /** Never rejects: a database that doesn't answer is asked again. */
  async #look(): Promise<void> {
    const states = `select (${LAST}), (select count(*) from kept_changes where since = ${ALL})`
    const state = await this.#engine.ask(sql(states)).then(
      (rows) => String(rows[0]),
      () => this.#seen,
    )
    if (state === this.#seen) return
    this.#seen = state
    for (const listener of this.#listeners) listener()
  }

  async #read(
    { where, order, limit }: { readonly where: string; readonly order: string; readonly limit: number },
    ...values: readonly SqlValue[]
  ): Promise<readonly ObjectChange[]> {
    const { ask, dialect } = this.#engine
    const bytes = 'coalesce(octet_length(before_document), 0) + coalesce(octet_length(document), 0)'
    const rows = await ask(
      sql(
        `select ${COLUMNS} from (
          select *, sum(${bytes}) over (order by ${order} rows between unbounded preceding and 1 preceding) as bytes
          from (select * from changes where ${where} order by ${order} limit ${limit}) as page) as sized
        where bytes is null or bytes <= ${MOST_BYTES} order by ${order}`,
        ...values,
      ),
    )
    return rows.map((row) => changeOf(row, dialect))
  }
}

/** Another object may have had the id before, or later. `place`: of the value of `born`. */
function lifeSql({ createdAt }: ObjectLife, place: number): string {
  const own = 'resource = $1 and id = $2'
  if (createdAt === undefined) return own
  return `${own} and created_at = $${place} and number >= coalesce((select max(made.number) from changes as made
    where made.resource = $1 and made.id = $2 and made.created_at = $${place} and made.before_version is null), 0)`
}

function born({ createdAt }: ObjectLife): readonly string[] {
  return createdAt === undefined ? [] : [createdAt]
}

const COLUMNS = `number, resource, id, at, written_by, created_at, before_version, before_updated_at, before_document,
  version, updated_at, document`

/**
 * The member of a deleted object's last document that names the fields which were erased: no decision may take them for
 * fields that were empty. A document has no member of this name.
 */
const ERASED = 'id'

function changeOf(row: Row, dialect: SqlDialect): ObjectChange {
  const [number, resource, id, at, writtenBy, createdAt, ...sides] = row
  const objectOf = ([version, updatedAt, document]: readonly (SqlValue | undefined)[]) =>
    version === null ? undefined : soundObject([id, version, createdAt, updatedAt, document] as Row, dialect)
  const before = objectOf(sides.slice(0, 3))
  const { [ERASED]: erased, ...document } = before?.document ?? {}
  return {
    number: Number(number),
    resource: dialect.fromStored(resource),
    id: dialect.fromStored(id),
    before: before && erased ? { ...before, document } : before,
    after: objectOf(sides.slice(3)),
    isDelete: sides[3] === null,
    ...(Array.isArray(erased) && { erased: erased.map(String) }),
    at: String(at),
    by: writtenBy === null ? undefined : (JSON.parse(String(writtenBy)) as WrittenBy),
  }
}

/** One damaged document must not keep readers from all other changes: it counts as absent. */
function soundObject(row: Row, dialect: SqlDialect): StoredObject | undefined {
  try {
    return storedObject(row, dialect)
  } catch (error) {
    if (error instanceof DamagedObject) return undefined
    throw error
  }
}

/** Returns how many changes have ended. */
function endSome(resource: string, until: string, { text }: SqlDialect): Work<number> {
  return end('resource = $1 and at <= $2 order by at', [text(resource), until])
}

/** `those`: of one resource, which is the first value. */
function* end(those: string, values: readonly SqlValue[]): Work<number> {
  const some = `select number from changes where ${those} limit ${ENDED_AT_ONCE}`
  const ended = yield sql(`delete from changes where number in (${some}) returning number`, ...values)
  const last = Math.max(0, ...ended.map(([number]) => Number(number)))
  yield sql('update kept_changes set since = $1 where resource = $2 and since < $1', last, values[0] ?? null)
  return ended.length
}

/** `place`: the number to go on after; undefined at the end. */
interface ErasedChanges {
  readonly erased: number
  readonly place: number | undefined
}

function* endAll(key: readonly SqlValue[]): Work<ErasedChanges> {
  const erased = yield* end('resource = $1 and id = $2 order by number', key)
  return { erased, place: erased === ENDED_AT_ONCE ? 0 : undefined }
}

function* eraseSome(key: readonly SqlValue[], field: string, from: number): Work<ErasedChanges> {
  const those = `resource = $1 and id = $2 and number > $3 order by number limit ${REWRITTEN_AT_ONCE}`
  const rows = yield sql(`select number, before_document, document from changes where ${those}`, ...key, from)
  let erased = 0
  for (const [number = null, ...documents] of rows) {
    const [before = null, after = null] = documents.map((document) => {
      return without(field, document, documents[1] === null ? 'noted' : 'silent')
    })
    if (before === documents[0] && after === documents[1]) continue
    yield sql('update changes set before_document = $1, document = $2 where number = $3', before, after, number)
    erased += 1
  }
  return { erased, place: rows.length < REWRITTEN_AT_ONCE ? undefined : Number(rows.at(-1)?.[0]) }
}

function* eraseWritten(subject: string, from: number): Work<ErasedChanges> {
  const written = `written_by is not null and number > $1 order by number limit ${ENDED_AT_ONCE}`
  const rows = yield sql(`select number, written_by from changes where ${written}`, from)
  const own = rows.filter(([, by]) => (JSON.parse(String(by)) as WrittenBy).subject === subject)
  for (const [number = null] of own) yield sql('update changes set written_by = null where number = $1', number)
  return { erased: own.length, place: rows.length < ENDED_AT_ONCE ? undefined : Number(rows.at(-1)?.[0]) }
}

/** The same text where the document hasn't the field. A damaged one, whose fields nobody can tell, is emptied, and stays damaged. */
function without(field: string, document: SqlValue, erasure: 'noted' | 'silent'): SqlValue {
  if (document === null || field === ERASED) return document
  const whole = documentIn(String(document))
  if (!whole) return 'null'
  const { [field]: found, ...others } = whole
  const noted = others[ERASED]
  const isNoted = erasure === 'noted' && found !== undefined
  const text = JSON.stringify(
    isNoted ? { ...others, [ERASED]: [...(Array.isArray(noted) ? noted : []), field] } : others,
  )
  return text === document ? document : text
}
