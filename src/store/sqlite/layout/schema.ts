/** The tables of the SQLite engine: one for each resource, with a column for each indexed field. */
import type { SQLOutputValue } from 'node:sqlite'
import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { StoredObject } from '../../../resources/object.ts'
import type { Field, Resource } from '../../../resources/resource.ts'
import { documentNamed, parseStored } from '../../parse-stored.ts'
import { quoteText } from '../query/text.ts'

/** `document` is JSON, as JSON.stringify writes it: no name twice. */
export const OBJECT_COLUMNS = ['id', 'version', 'created_at', 'updated_at', 'document'] as const

/** The columns of the fields that aren't in the document. */
export const SERVER_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['id', 'id'],
  ['createdAt', 'created_at'],
  ['updatedAt', 'updated_at'],
])

/** Selects the names of the tables of objects. */
export const OBJECT_TABLES =
  "select name from sqlite_schema where type = 'table' and name glob 'objects_*' order by name"

/** A generated column that holds a field's comparable value, with an index on it. */
export interface IndexedField {
  readonly field: string
  readonly column: string
  readonly unique: boolean
}

/**
 * A column that a list is often sorted by, with an index on it: the server's, or a generated one of a field's instants.
 */
interface TimeColumn {
  readonly field: string
  readonly column: string
  /** Undefined for a column that the server writes. */
  readonly generated?: string
}

export interface TablePlan {
  readonly resource: string
  /** Contains no quote. */
  readonly table: string
  readonly indexed: readonly IndexedField[]
  readonly times: readonly TimeColumn[]
  /** The fields by which related objects are found: those that relations compare, and unique ones. */
  readonly leading: ReadonlySet<string>
  /** The columns of an index, in their order; the id follows as the last column. */
  readonly orders: readonly (readonly string[])[]
}

/**
 * `compared`: further fields to index, those that relations compare. A list can't be indexed: no column can hold it.
 */
export function planTable(resource: Resource, compared: readonly string[]): TablePlan {
  const wanted = [...resource.fields.values()].filter((field) => {
    return !SERVER_FIELDS.has(field.name) && (field.indexed || field.unique || compared.includes(field.name))
  })
  for (const field of wanted) refuseUniqueStructure(resource, field)
  const indexed = wanted.filter(isScalar).map(({ name, unique }) => ({ field: name, column: columnOf(name), unique }))
  const table = `objects_${identifier(resource.name)}`
  const times = planTimes(resource)
  const leading = new Set(
    indexed.filter(({ field, unique }) => unique || compared.includes(field)).map(({ field }) => field),
  )
  const orders = planOrders(resource, compared, { indexed, times })
  return { resource: resource.name, table, indexed, times, leading, orders }
}

/**
 * Indexes on each field alone, and on each pair of a field that relations compare and a field that a list can be sorted
 * by: a caller may own many objects, and a page of them must not sort them all.
 */
function planOrders(
  { fields }: Resource,
  compared: readonly string[],
  { indexed, times }: Pick<TablePlan, 'indexed' | 'times'>,
): TablePlan['orders'] {
  const scalars = indexed.filter(({ unique }) => !unique)
  const sortable = [...scalars.filter(({ field }) => fields.get(field)?.indexed && !fields.get(field)?.time), ...times]
  const owners = indexed.filter(({ field }) => compared.includes(field))
  const pairs = owners.flatMap((owner) => {
    return sortable.filter(({ field }) => field !== owner.field).map(({ column }) => [owner.column, column])
  })
  return [...[...scalars, ...times].map(({ column }) => [column]), ...pairs]
}

function planTimes({ fields }: Resource): readonly TimeColumn[] {
  const times = [...fields.values()].filter(({ indexed, time, list }) => indexed && time && !list)
  return times.map(({ name }) => {
    const column = SERVER_COLUMNS.get(name)
    return column ? { field: name, column } : { field: name, column: `t_${identifier(name)}`, generated: instant(name) }
  })
}

function refuseUniqueStructure(resource: Resource, field: Field): void {
  if (!field.unique || isScalar(field)) return
  throw new Error(`the field \`${field.name}\` of \`${resource.name}\` can't be unique: its values can't be compared`)
}

function isScalar(field: Field): boolean {
  return !field.list && field.type !== 'other'
}

function columnOf(field: string): string {
  return `f_${identifier(field)}`
}

/**
 * A name as part of an identifier. SQLite takes `a` and `A` for the same, so capitals are marked (`owner^Id`) and
 * everything else is written as its code point, so different names stay different.
 */
function identifier(name: string): string {
  return name.replace(/[^a-z0-9_-]/gu, (character) => {
    return /[A-Z]/.test(character) ? `^${character}` : `~${character.codePointAt(0)?.toString(16)}~`
  })
}

/** The value of a generated column where the field is a list: an index can't look into a list. */
export const LIST_MARK = "x'02'"

/** The path of a field in the document. SQLite reads a quoted name as a JSON string (since 3.45). */
export function jsonPath(field: string): string {
  return quoteText(`$.${JSON.stringify(field)}`)
}

/** The value that a field's generated column holds. */
export function comparableField(field: string): string {
  const path = jsonPath(field)
  return comparable(`json_type(document, ${path})`, `json_extract(document, ${path})`)
}

/** The instant that a field means, in the form of `instantOf` of src/base/instant.ts; otherwise NULL. */
export function instant(field: string): string {
  const path = jsonPath(field)
  return instantOfText(`json_type(document, ${path}) = 'text'`, `json_extract(document, ${path})`)
}

/**
 * The instant that a text means. SQLite converts the seconds to UTC; the fraction is appended unchanged, because SQLite
 * would round it. The patterns refuse texts that SQLite accepts as a time and RFC 3339 doesn't.
 */
export function instantOfText(isText: string, value: string): string {
  const text = `upper(${value})`
  const zone = `case when ${text} glob '*Z' then 'Z' else substr(${text}, -6) end`
  const fraction = `case when substr(${text}, 20, 1) = '.'
    then substr(${text}, 21, max(0, length(${text}) - 20 - length(${zone}))) else '' end`
  return `case when ${isText}
    and ${text} glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][T ][0-9][0-9]:[0-9][0-9]:[0-9][0-9]*'
    and substr(${text}, 1, 10) not in ('0000-01-01', '9999-12-31') and substr(${text}, 12, 2) < '24'
    and (${zone} = 'Z' or ${zone} glob '[+-][0-9][0-9]:[0-9][0-9]')
    and (length(${text}) = 19 + length(${zone})
      or (substr(${text}, 20, 1) = '.' and ${fraction} <> '' and ${fraction} not glob '*[^0-9]*'))
    then strftime('%Y-%m-%dT%H:%M:%S', substr(${text}, 1, 19) || ${zone})
      || '.' || substr((${fraction}) || '000', 1, 3) || 'Z' end`
}

/**
 * A JSON value such that two are equal exactly when they are in JavaScript: `true` isn't 1, numbers are doubles, and
 * null and objects are NULL, which equals nothing. `bound` of query/condition-values.ts does the same for parameters.
 */
export function comparable(type: string, value: string): string {
  return `case ${type}
    when 'text' then ${value}
    when 'integer' then cast(${value} as real)
    when 'real' then ${value}
    when 'true' then x'01'
    when 'false' then x'00'
    when 'array' then ${LIST_MARK}
  end`
}

/**
 * A row as an array, in the order of OBJECT_COLUMNS: SQLite's driver makes an array faster than an object. Throws
 * DamagedObject.
 */
export function stored(row: readonly SQLOutputValue[]): StoredObject {
  const [id, version, createdAt, updatedAt, document] = row as readonly [string, number, string, string, string]
  return { id, version, createdAt, updatedAt, document: parseStored(document, () => documentNamed(id)) }
}
