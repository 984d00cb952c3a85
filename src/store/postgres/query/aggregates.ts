/** Sums over the rows of a list, in groups, as one statement. */
import type { FieldType } from '../../../resources/resource.ts'
import { type AggregatedGroup, type AggregateQuery, LONGEST_GROUPED, type NumbersFound } from '../../contract.ts'
import { DamagedObject } from '../../errors.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { isOfData } from '../failures.ts'
import { isLongSql, KIND, valueOfKey } from '../layout/keys.ts'
import { quoteText } from '../stored-text.ts'
import { keySql, outermost, type QueriedTable, type QueriedTableOf, serverColumn } from './condition.ts'
import { planned, selectedSql } from './lists.ts'

/** Throws DamagedObject where a document is not readable. */
export async function aggregated(
  resource: string,
  query: AggregateQuery,
  tableOf: QueriedTableOf,
  read: (asked: Statement) => Promise<readonly Row[]>,
): Promise<readonly AggregatedGroup[]> {
  const rows = await read(aggregateStatement(query, tableOf(resource), tableOf)).catch((error: Error) => {
    throw isOfData(error.cause) ? new DamagedObject(`a document of \`${resource}\``) : error
  })
  return rows.map((row) => groupOf(row, query.by.length, query.of.length))
}

/** Rows: the key of each group, the number of objects, and for each field its numbers: how many, sum, least and most. */
function aggregateStatement(
  { by, of, limit, ...selection }: AggregateQuery,
  table: QueriedTable,
  tableOf: QueriedTableOf,
): Statement {
  return planned([selection.where], (parameters) => {
    const scope = outermost(table, tableOf, parameters)
    const groups = by.map(({ name, type }, at) => `${groupedSql(type, wholeKeySql(name, scope.alias))} as g${at}`)
    const numbers = of.map((field, at) => `${numberSql(field, scope.alias)} as x${at}`)
    const found = of.map(
      (_, at) => `count(x${at}), coalesce(sum(x${at}), 0)::text, min(x${at})::text, max(x${at})::text`,
    )
    const names = by.map((_, at) => `g${at}`)
    const grouped = by.length === 0 ? '' : ` group by ${names.join()}`
    // With its offset, the inner query stays by itself: each document is parsed once.
    const rows = `select ${['1 as one', ...groups, ...numbers].join()} from ${scope.source}
      where ${selectedSql(selection, scope)} offset 0`
    return `select ${[...names, 'count(*)', ...found].join()} from (${rows}) as rows${grouped}
      limit ${parameters.bind(limit)}::bigint`
  })
}

function groupOf(row: Row, groups: number, fields: number): AggregatedGroup {
  const keys = row.slice(0, groups)
  const numbers = Array.from({ length: fields }, (_, at): NumbersFound => {
    const [count, sum, least, most] = row.slice(groups + 1 + 4 * at)
    return { count: Number(count), sum: String(sum), least: least as string | null, most: most as string | null }
  })
  return {
    values: keys.map((key) => (typeof key === 'string' ? valueOfKey(key) : null)),
    isCut: keys.includes(KIND.end),
    count: Number(row[groups]),
    numbers,
  }
}

/** The key of a value of the type; NULL for another one, and the key of the end for a text that is too long. */
function groupedSql(type: FieldType, key: string): string {
  if (type === 'boolean') return `(case when ${key} in ('${KIND.no}', '${KIND.yes}') then ${key} end)`
  const kind = type === 'string' ? KIND.text : KIND.number
  // A text has at most twice as many bytes when it is encoded, so none that may be told has been cut.
  const whole = String.raw`replace(replace(${key}, U&'\0001\0001', '-'), U&'\0001\0002', '-')`
  const isTold = `not ${isLongSql(key)} and octet_length(${whole}) <= ${LONGEST_GROUPED + 1}`
  const told = `case when ${isTold} then ${key} else '${KIND.end}' end`
  return `(case when left(${key}, 1) = '${kind}' then ${told} end)`
}

/**
 * The number of a field, as its document writes it. PostgreSQL can't parse escapes of U+0000 and of lone surrogates. Texts
 * don't count here, so all such escapes may go, after the escaped backslashes, which may stand before an u.
 */
function numberSql(field: string, alias: string): string {
  const document = `${alias}document`
  const escapes = String.raw`regexp_replace(replace(${document}, '\\', ''), '\\u(0000|d[89a-f][0-9a-f]{2})', '', 'gi')`
  const readable = String.raw`(case when ${document} like '%\\u%' then ${escapes} else ${document} end)`
  const value = `(${readable}::json -> ${quoteText(field)})::text::numeric`
  return `(case when left(${keySql(field, alias)}, 1) = '${KIND.number}' then ${value} end)`
}

function wholeKeySql(field: string, alias: string): string {
  const column = serverColumn(field, alias)
  return column ? `('${KIND.text}' || ${column})` : keySql(field, alias)
}
