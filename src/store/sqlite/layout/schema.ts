/** The tables of the SQLite engine: one for each resource, with a column for each indexed field. */
import type { IndexKey, TablePlan } from '../../sql/indexes.ts'
import { instantOfText } from '../../sql/instant-of-text.ts'
import { SERVER_COLUMNS } from '../../sql/objects.ts'
import { quoteLiteral } from '../../sql/statement.ts'

/** The beginning of the name of a table of objects. */
export const TABLE_PREFIX = 'objects_'

/** Selects the names of the tables of objects. */
export const OBJECT_TABLES =
  "select name from sqlite_schema where type = 'table' and name glob 'objects_*' order by name"

/**
 * A column that a list is often sorted by, with an index on it: the server's, or a generated one of a field's instants.
 */
interface TimeColumn {
  readonly column: string
  /** Undefined for a column that the server writes. */
  readonly generated?: string
}

/** The fields with a generated column of their comparable value. */
export function fieldsWithColumn({ indexed, unique }: TablePlan): readonly string[] {
  return [...new Set([...indexed, ...unique.flatMap(({ fields }) => fields)])]
}

export function columnOfKey({ field, by }: IndexKey): string {
  return by === 'time' ? timeColumn(field).column : columnOf(field)
}

export function tableNameOf(resource: string): string {
  return `${TABLE_PREFIX}${identifier(resource)}`
}

export function timeColumn(field: string): TimeColumn {
  const column = SERVER_COLUMNS.get(field)
  return column ? { column } : { column: `t_${identifier(field)}`, generated: instant(field) }
}

export function columnOf(field: string): string {
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

/** The name of the resource whose objects the table holds: the opposite of `identifier`. */
export function resourceOfTable(table: string): string {
  return table
    .slice(TABLE_PREFIX.length)
    .replace(/\^([A-Z])|~([0-9a-f]{1,5})~/g, (_, capital?: string, point?: string) => {
      return capital ?? String.fromCodePoint(Number.parseInt(point ?? '', 16))
    })
}

/** The value of a generated column where the field is a list: an index can't look into a list. */
export const LIST_MARK = "x'02'"

/** The path of a field in the document. SQLite reads a quoted name as a JSON string (since 3.45). */
export function jsonPath(field: string): string {
  return quoteLiteral(`$.${JSON.stringify(field)}`)
}

/** The value that a field's generated column holds. */
export function comparableField(field: string): string {
  const path = jsonPath(field)
  return comparable(`json_type(document, ${path})`, `json_extract(document, ${path})`)
}

/** The instant that a field means, in the form of `instantOf` of src/base/time.ts; otherwise NULL. */
export function instant(field: string): string {
  const path = jsonPath(field)
  return instantOfText(`json_type(document, ${path}) = 'text'`, `json_extract(document, ${path})`)
}

/**
 * A JSON value such that two are equal exactly when they are in JavaScript: `true` isn't 1, numbers are doubles, and
 * null and objects are NULL, which equals nothing. `bound` of query/condition.ts does the same for parameters.
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
