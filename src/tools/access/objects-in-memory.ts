/**
 * The objects of all resources, with the fields that relations compare, to count for thousands of callers: a database
 * would look at the same objects again for each of them. Conditions mean what condition.ts says; random tests hold the
 * counts equal to those of the database.
 */
import { LRUCache } from 'lru-cache'
import {
  type Climb,
  type Condition,
  fieldValues,
  type Holds,
  isComparable,
  meets,
  type Related,
} from '../../decide/conditions/condition.ts'
import { simplify } from '../../decide/conditions/simplify-condition.ts'
import type { Policy } from '../../decide/policy.ts'
import { comparedFields, leavesOf, stepsIn } from '../../decide/relations/all-kinds.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Representation, Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import type { Store } from '../../store/contract.ts'
import { readListed } from '../../store/lists/json-row.ts'
import { MemberCutter } from '../../store/lists/member-cutter.ts'
import { ValueColumn } from './value-column.ts'

export interface ObjectCounter {
  /** The form in which it is counted. */
  simplest(where: Condition): Condition
  /** `where`: in its simplest form. */
  count(resource: string, where: Condition): number | Promise<number>
}

const PAGE = 1000
/** To look at so many objects costs no more than to find out how to look at fewer. */
const FEW = 1000
const MOST_COUNTS = 5000
const MOST_REACHED = 500_000
/** A set with its condition takes as much as so many numbers. */
const A_SET = 100

interface ObjectsToRead {
  readonly opened: { readonly store: Pick<Store, 'list' | 'count'> }
  readonly resources: Resources
  readonly progress: AccessProgress
}

/** First the objects are read, then the callers are decided. */
export interface AccessProgress {
  begin(doing: 'reading' | 'deciding', total: number): void
  done(count: number): void
}

/** Of the policies whose relations are compared. */
type Ownerships = readonly Pick<Policy, 'ownership'>[]

export class ObjectsInMemory implements ObjectCounter {
  readonly #tables = new Map<string, CountedTable>()
  readonly #counts = new LRUCache<string, number>({ maxSize: MOST_COUNTS, sizeCalculation: () => 1 })
  readonly #reached = new LRUCache<string, ReadonlySet<number>>({
    maxSize: MOST_REACHED,
    sizeCalculation: ({ size }) => size + A_SET,
  })
  /** Each value has a number, the same in all columns; 0 is no value. */
  readonly #numbers = new Map<Scalar, number>()
  readonly #values: Scalar[] = ['']
  readonly #accepted = new WeakMap<Condition, ReadonlySet<number>>()

  /** Throws what the store throws. */
  static async read({ opened, resources, progress }: ObjectsToRead, policies: Ownerships): Promise<ObjectsInMemory> {
    const objects = new ObjectsInMemory()
    const { store } = opened
    const fields = fieldsCompared(policies)
    const stored = storedResources(resources)
    let total = 0
    for (const { name } of stored) total += (await store.count(name, { where: { kind: 'always' } })).found
    progress.begin('reading', total)
    for (const { name, routes } of stored) {
      const ownId = routes.some(({ kind }) => kind === 'caller') ? ['id'] : []
      const compared = new Set([...ownId, ...(fields.get(name) ?? [])])
      const columns = new Map([...compared].map((field) => [field, new ValueColumn()]))
      const size = await eachPage(store, name, compared, (page) => {
        for (const object of page)
          for (const [field, column] of columns)
            column.add(fieldValues(object, field).map((value) => objects.#numberOf(value)))
        progress.done(page.length)
      })
      objects.#tables.set(name, { name, size, columns })
    }
    return objects
  }

  simplest(where: Condition): Condition {
    return simplify(withoutNegatedGroups(simplify(where)))
  }

  count(resource: string, where: Condition): number {
    return this.#count(this.#table(resource), where)
  }

  #numberOf(value: Scalar): number {
    const known = this.#numbers.get(value)
    if (known !== undefined) return known
    this.#numbers.set(value, this.#values.length)
    return this.#values.push(value) - 1
  }

  #table(resource: string): CountedTable {
    return this.#tables.get(resource) as CountedTable
  }

  #count(table: CountedTable, condition: Condition): number {
    if (condition.kind === 'always') return table.size
    if (this.#most(table, condition) <= FEW) return lengthOf(this.#rows(table, condition))
    const key = `${table.name} ${JSON.stringify(condition)}`
    const known = this.#counts.get(key)
    if (known !== undefined) return known
    const found = this.#countMany(table, condition)
    this.#counts.set(key, found)
    return found
  }

  /**
   * Parts that few objects meet, usually those that compare the caller, are counted by themselves; what is left is the
   * same for many callers, and known.
   */
  #countMany(table: CountedTable, condition: Condition): number {
    if (condition.kind === 'not') return table.size - this.#count(table, condition.of)
    if (condition.kind === 'some') return this.#countEither(table, condition.of, [])
    if (condition.kind !== 'all') return lengthOf(this.#rows(table, condition))
    const { of } = condition
    const driver = this.#least(table, of)
    const unwanted = of.flatMap((part) => (part.kind === 'not' ? [part.of] : []))
    const { part: negated, size } = this.#least(table, unwanted)
    if (negated && size < driver.size) {
      const others = of.filter((part) => part.kind !== 'not' || part.of !== negated)
      return this.#count(table, allOf(others)) - this.#count(table, allOf([...others, negated]))
    }
    if (driver.part?.kind !== 'some') return lengthOf(this.#rows(table, condition))
    const others = of.filter((part) => part !== driver.part)
    return this.#countEither(table, driver.part.of, others)
  }

  /** The largest alternative first, and of each other one what is in none before it. */
  #countEither(table: CountedTable, alternatives: readonly Condition[], others: readonly Condition[]): number {
    const sorted = alternatives.toSorted((a, b) => this.#most(table, b) - this.#most(table, a))
    const counted = sorted.map((part, i) => {
      const earlier = sorted.slice(0, i).map((of): Condition => ({ kind: 'not', of }))
      return this.#count(table, this.simplest(allOf([part, ...others, ...earlier])))
    })
    return counted.reduce((sum, some) => sum + some, 0)
  }

  #least(table: CountedTable, parts: readonly Condition[]): SizedPart {
    let least: SizedPart = { part: undefined, size: Number.POSITIVE_INFINITY }
    for (const part of parts) {
      const size = this.#most(table, part)
      if (size < least.size) least = { part, size }
    }
    return least
  }

  /** The most objects that could meet it, without looking at each. */
  #most(table: CountedTable, condition: Condition): number {
    switch (condition.kind) {
      case 'never':
        return 0
      case 'holds':
      case 'related':
      case 'climb':
        return columnOf(table, condition.field).most(this.#acceptedBy(condition))
      case 'all':
        return this.#least(table, condition.of).size
      case 'some':
        return condition.of.reduce((sum, part) => sum + this.#most(table, part), 0)
      default:
        return table.size
    }
  }

  /** Each row once. */
  #rows(table: CountedTable, condition: Condition): Iterable<number> {
    switch (condition.kind) {
      case 'never':
        return []
      case 'holds':
      case 'related':
      case 'climb':
        return columnOf(table, condition.field).having(this.#acceptedBy(condition))
      case 'some':
        return new Set(condition.of.flatMap((part) => [...this.#rows(table, part)]))
      case 'all': {
        const { part: driver } = this.#least(table, condition.of)
        const others = condition.of.filter((part) => part !== driver)
        return rowsWhere(driver ? this.#rows(table, driver) : numbersTo(table.size), (row) =>
          others.every((part) => this.#holds(table, part, row)),
        )
      }
      default:
        return rowsWhere(numbersTo(table.size), (row) => this.#holds(table, condition, row))
    }
  }

  #holds(table: CountedTable, condition: Condition, row: number): boolean {
    switch (condition.kind) {
      case 'always':
        return true
      case 'never':
        return false
      case 'holds':
      case 'related':
      case 'climb': {
        const accepted = this.#acceptedBy(condition)
        return columnOf(table, condition.field)
          .numbersOf(row)
          .some((one) => accepted.has(one))
      }
      case 'present':
      case 'between':
      case 'time': {
        const { field } = condition
        const values = columnOf(table, field).numbersOf(row)
        return values.some((one) => meets(condition, { [field]: this.#values[one] as Scalar }))
      }
      case 'all':
        return condition.of.every((part) => this.#holds(table, part, row))
      case 'some':
        return condition.of.some((part) => this.#holds(table, part, row))
      case 'not':
        return !this.#holds(table, condition.of, row)
    }
  }

  /** The numbers of the values that the field may have. */
  #acceptedBy(condition: Holds | Related | Climb): ReadonlySet<number> {
    const known = this.#accepted.get(condition)
    if (known) return known
    const found =
      condition.kind === 'holds'
        ? new Set(condition.values.flatMap((value) => this.#numbers.get(value) ?? []))
        : this.#reachedBy(condition)
    this.#accepted.set(condition, found)
    return found
  }

  #reachedBy(condition: Related | Climb): ReadonlySet<number> {
    const isFew = this.#most(this.#table(condition.resource), condition.where) <= FEW
    if (isFew) return this.#reach(condition)
    const key = JSON.stringify(condition)
    const found = this.#reached.get(key) ?? this.#reach(condition)
    this.#reached.set(key, found)
    return found
  }

  #reach(condition: Related | Climb): ReadonlySet<number> {
    const table = this.#table(condition.resource)
    const by = columnOf(table, condition.kind === 'related' ? condition.by : 'id')
    const valuesOf = (rows: Iterable<number>) => {
      const found = new Set<number>()
      for (const row of rows)
        for (const one of by.numbersOf(row)) if (isComparable(this.#values[one] as Scalar)) found.add(one)
      return found
    }
    const found = valuesOf(this.#rows(table, condition.where))
    const steps = condition.kind === 'climb' ? condition.depth : 1
    for (let step = 1, last: ReadonlySet<number> = found; step < steps && last.size > 0; step += 1) {
      const children = columnOf(table, condition.kind === 'climb' ? condition.field : 'id').having(last)
      last = valuesOf(children).difference(found)
      for (const one of last) found.add(one)
    }
    return found
  }
}

interface SizedPart {
  readonly part: Condition | undefined
  readonly size: number
}

interface CountedTable {
  readonly name: string
  readonly size: number
  readonly columns: ReadonlyMap<string, ValueColumn>
}

/** The number of objects. Throws what the store throws. */
export async function eachPage(
  store: Pick<Store, 'list'>,
  resource: string,
  fields: Pick<ReadonlySet<string>, 'has'>,
  use: (page: readonly Representation[]) => void,
): Promise<number> {
  const cutter = new MemberCutter(fields)
  let size = 0
  for (let last: string | undefined, more = true; more; ) {
    const after = last === undefined ? {} : { after: [last] }
    const rows = await store.list(resource, { where: { kind: 'always' }, limit: PAGE, ...after })
    use(rows.map((row) => readListed(row, cutter)))
    size += rows.length
    last = rows.at(-1)?.id
    more = rows.length === PAGE
  }
  return size
}

function columnOf({ name, columns }: CountedTable, field: string): ValueColumn {
  const found = columns.get(field)
  if (!found) throw new Error(`no relation compares the field ${field} of ${name}`)
  return found
}

function fieldsCompared(policies: Ownerships): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  const note = (resource: string, fields: readonly string[]) => {
    const known = found.getOrInsertComputed(resource, () => new Set())
    for (const field of fields) known.add(field)
  }
  const relations = policies.flatMap(({ ownership }) =>
    [...ownership].flatMap(([resource, one]) =>
      [...one.relations.values()].map((relation) => ({ resource, relation })),
    ),
  )
  for (const { resource, relation } of relations) {
    for (const leaf of leavesOf(relation)) note(resource, comparedFields(leaf))
    for (const { resource: other, by, depth } of stepsIn(relation)) note(other, depth === undefined ? [by] : [by, 'id'])
  }
  return found
}

function allOf(of: readonly Condition[]): Condition {
  return { kind: 'all', of: of.flatMap((part) => (part.kind === 'all' ? part.of : [part])) }
}

/** The same, with `not` only before conditions without parts. */
function withoutNegatedGroups(condition: Condition, isNegated = false): Condition {
  switch (condition.kind) {
    case 'not':
      return withoutNegatedGroups(condition.of, !isNegated)
    case 'all':
    case 'some': {
      const kind = (condition.kind === 'all') === isNegated ? 'some' : 'all'
      return { kind, of: condition.of.map((part) => withoutNegatedGroups(part, isNegated)) }
    }
    case 'related':
    case 'climb': {
      const plain = { ...condition, where: withoutNegatedGroups(condition.where) }
      return isNegated ? { kind: 'not', of: plain } : plain
    }
    default:
      return isNegated ? { kind: 'not', of: condition } : condition
  }
}

function* rowsWhere(rows: Iterable<number>, holds: (row: number) => boolean): Iterable<number> {
  for (const row of rows) if (holds(row)) yield row
}

function* numbersTo(size: number): Iterable<number> {
  for (let row = 0; row < size; row += 1) yield row
}

function lengthOf(rows: Iterable<number>): number {
  let length = 0
  for (const _ of rows) length += 1
  return length
}
