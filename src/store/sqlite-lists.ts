/** The lists of one resource's table: filtered, sorted, page by page. Statements are compiled once a shape. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import { simplify } from './condition.ts'
import type { Comparison, Condition, ListQuery, StoredObject } from './contract.ts'
import { boundValues, conditionSql, shapeOf } from './sqlite-condition.ts'
import { filterShape, filterSql, filterValues } from './sqlite-filter.ts'
import {
  BY_ID,
  orderedBy,
  orderShape,
  type Segment,
  segmentSql,
  segmentsAfter,
  segmentValues,
  type TableColumns,
} from './sqlite-order.ts'
import { OBJECT_COLUMNS, type ObjectTableName, storedAll, type Tables } from './sqlite-schema.ts'
import { StatementCache } from './statement-cache.ts'

/** Shapes come from policies and filters: a caller can ask for many, and each statement holds memory. */
const STATEMENTS = 128

type Selection = Pick<ListQuery, 'where' | 'filter'>

interface Selected {
  readonly condition: Condition
  readonly filter: readonly Comparison[]
  readonly shape: string
  readonly values: readonly SQLInputValue[]
}

export class ObjectLists {
  readonly #db: Kysely<Tables>
  readonly #database: DatabaseSync
  readonly #table: ObjectTableName
  readonly #columns: TableColumns
  readonly #statements = new StatementCache<StatementSync>(STATEMENTS)

  constructor(db: Kysely<Tables>, database: DatabaseSync, table: ObjectTableName, columns: TableColumns) {
    this.#db = db
    this.#database = database
    this.#table = table
    this.#columns = columns
  }

  list({ where, filter, order = BY_ID, after, limit }: ListQuery): readonly StoredObject[] {
    const selected = select({ where, ...(filter && { filter }) })
    const segments = segmentsAfter(order, after)
    // Of one state of the database, so that an object that another process moves on stands in one segment alone.
    return segments.length === 1
      ? this.#segment(selected, order, segments[0] ?? [], limit)
      : this.#reading(() => this.#inTurn(selected, order, segments, limit))
  }

  count(selection: Selection): number {
    const selected = select(selection)
    const statement = this.#statements.get(`count${selected.shape}`, () => this.#prepareCount(selected))
    return Number(statement.get(...selected.values)?.count)
  }

  #inTurn(selected: Selected, order: readonly ListKey[], segments: readonly Segment[], limit: number) {
    const found: StoredObject[] = []
    for (const segment of segments) {
      if (found.length < limit) found.push(...this.#segment(selected, order, segment, limit - found.length))
    }
    return found
  }

  #segment(selected: Selected, order: readonly ListKey[], segment: Segment, limit: number): readonly StoredObject[] {
    const key = `list${selected.shape}${orderShape(order, segment)}`
    const statement = this.#statements.get(key, () => this.#prepareList(selected, order, segment))
    const rows = statement.all(...selected.values, ...segmentValues(segment), limit)
    return storedAll(rows as unknown as readonly SQLOutputValue[][])
  }

  #prepareList(selected: Selected, order: readonly ListKey[], segment: Segment): StatementSync {
    const rows = this.#db.selectFrom(this.#table).select(OBJECT_COLUMNS).where(this.#selectedSql(selected))
    const following = segment.length === 0 ? rows : rows.where(segmentSql(segment, this.#columns))
    const ordered = order.reduce((query, key) => {
      return query.orderBy(orderedBy(key, this.#columns), key.descending ? 'desc' : 'asc')
    }, following)
    const statement = this.#database.prepare(ordered.limit(1).compile().sql)
    statement.setReturnArrays(true)
    return statement
  }

  #prepareCount(selected: Selected): StatementSync {
    const rows = this.#db.selectFrom(this.#table).where(this.#selectedSql(selected))
    return this.#database.prepare(rows.select((eb) => eb.fn.countAll().as('count')).compile().sql)
  }

  #selectedSql({ condition, filter }: Selected): RawBuilder<SqlBool> {
    const allowed = conditionSql(condition, this.#columns.values)
    return filter.length === 0 ? allowed : sql`${allowed} and ${filterSql(filter, this.#columns)}`
  }

  #reading<T>(work: () => T): T {
    this.#database.exec('begin')
    try {
      return work()
    } finally {
      if (this.#database.isTransaction) this.#database.exec('commit')
    }
  }
}

type ListKey = NonNullable<ListQuery['order']>[number]

/** Equality of values is a condition like the policy's own, and is simplified together with it. */
function select({ where, filter = [] }: Selection): Selected {
  const isEquality = ({ operator, by }: Comparison) => operator === 'in' && by === 'value'
  const equal = filter.filter(isEquality).map(({ field, values }): Condition => ({ kind: 'holds', field, values }))
  const condition = simplify({ kind: 'all', of: [where, ...equal] })
  const rest = filter.filter((one) => !isEquality(one))
  return {
    condition,
    filter: rest,
    shape: shapeOf(condition) + filterShape(rest),
    values: [...boundValues(condition), ...filterValues(rest)],
  }
}
