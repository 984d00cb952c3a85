/** The tables that a request describes, checked against the schemas. Nothing that isn't checked gets into a statement. */
import { pointerOfPath } from '../../../base/json-pointer.ts'
import type { FieldFault } from '../../../base/problems/problem.ts'
import type { Condition } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import { IDENTIFIER } from '../../../resources/built-in/filter-schemas.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Field, FieldType, Resource } from '../../../resources/resource.ts'
import {
  type ColumnType,
  type Dialect,
  type ListForm,
  type MappedColumn,
  type MappedTable,
  type Mapping,
  OWN_NAMES,
} from './condition-sql.ts'

/** As the request has it. */
interface DescribedTable {
  /** A name, or a schema and a name with a dot between. */
  readonly table: string
  /** By field; without it, each field has a column of its own name. */
  readonly columns?: Readonly<Record<string, string | DescribedColumn>>
}

interface DescribedColumn {
  readonly column?: string
  readonly type?: ColumnType
  readonly list?: ListForm
}

export interface DescribedTables extends DescribedTable {
  readonly related?: Readonly<Record<string, DescribedTable>>
}

const NAME = new RegExp(`^${IDENTIFIER}$`)

interface MappingReading {
  readonly resource: Resource
  readonly named: ResourceNamed
  readonly dialect: Dialect
  /** The place of the value in the body. */
  readonly place: readonly string[]
}

/** The faults name places in the body. */
export function readMapping(
  described: DescribedTables,
  reading: MappingReading,
): Mapping | { readonly faults: readonly FieldFault[] } {
  const faults: FieldFault[] = []
  const report: ReportFault = (place, detail, code) => void faults.push({ pointer: pointerOfPath(place), detail, code })
  const table = readTable(described, reading, report)
  const related = Object.entries(described.related ?? {}).flatMap(([name, one]) => {
    const place = [...reading.place, 'related', name]
    const resource = reading.named(name)
    if (resource) return [[name, readTable(one, { ...reading, resource, place }, report)] as const]
    report(place, 'must be a resource that a schema declares', 'resource')
    return []
  })
  return faults.length > 0 ? { faults } : { table, related: new Map(related) }
}

type ReportFault = (place: readonly string[], detail: string, code: string) => void

function readTable({ table, columns }: DescribedTable, reading: MappingReading, report: ReportFault): MappedTable {
  const { resource, place } = reading
  const name = table.split('.')
  if (name.length > 2 || !name.every(isName))
    report([...place, 'table'], 'must be a name, or a schema and a name', 'name')
  refuseOwnNames(name, [...place, 'table'], report)
  const described = columns ? Object.entries(columns) : namedAlike(resource)
  const read = described.flatMap(([fieldName, column]) => {
    const field = resource.fields.get(fieldName)
    const here = { ...reading, place: [...place, 'columns', fieldName] }
    if (field?.type === 'other') return []
    if (field) return [[fieldName, readColumn(field, column, here, report)] as const]
    report(here.place, `must be a field of \`${resource.name}\``, 'field')
    return []
  })
  return { name, columns: new Map(read) }
}

function namedAlike({ fields }: Resource): readonly (readonly [string, string])[] {
  return [...fields.keys()].filter((name) => isName(name) && !isOwnName(name)).map((name) => [name, name] as const)
}

/** A name of the statement would hide a name of the database. */
function refuseOwnNames(names: readonly string[], place: readonly string[], report: ReportFault): void {
  if (names.some(isOwnName)) report(place, `must not begin with \`${OWN_NAMES}\``, 'name')
}

function isOwnName(name: string): boolean {
  return name.toLowerCase().startsWith(OWN_NAMES)
}

function isName(text: string): boolean {
  return NAME.test(text)
}

function readColumn(
  field: Field,
  described: string | DescribedColumn,
  { dialect, place }: MappingReading,
  report: ReportFault,
): MappedColumn {
  const { column = field.name, type, list } = typeof described === 'string' ? { column: described } : described
  if (!isName(column)) report(place, 'must be the name of a column: letters, digits and `_`', 'name')
  refuseOwnNames([column], place, report)
  const types = TYPES[field.time ? 'time' : field.type].filter((one) => dialect.types.includes(one))
  const lists = field.list ? dialect.lists : []
  if (type && !types.includes(type)) report([...place, 'type'], `must be one of ${types.join(', ')}`, 'type')
  if (list && !lists.includes(list)) {
    report([...place, 'list'], field.list ? `must be one of ${lists.join(', ')}` : 'the field is no list', 'list')
  }
  const form = list ?? lists[0]
  return { name: column, type: type ?? types[0] ?? 'text', ...(form && { list: form }) }
}

/** The types of columns that can hold a field: the first one that the dialect has, unless the request names another. */
const TYPES: Readonly<Record<Field['type'] | 'time', readonly ColumnType[]>> = {
  string: ['text', 'uuid', 'enum', 'bigint'],
  time: ['timestamptz', 'text', 'epoch-ms'],
  integer: ['number'],
  number: ['number'],
  boolean: ['boolean'],
  other: [],
}

/** Undefined for a resource or field that no schema declares. */
type ResourceNamed = (name: string) => Resource | undefined

const NEVER: Condition = { kind: 'never' }

/** The simplest form of the condition for objects that have the declared types. */
export function fitTypes(condition: Condition, resource: Resource, named: ResourceNamed): Condition {
  return simplify(typed(condition, resource, named))
}

function typed(condition: Condition, resource: Resource, named: ResourceNamed): Condition {
  switch (condition.kind) {
    case 'holds': {
      const field = resource.fields.get(condition.field)
      return { ...condition, values: condition.values.filter((value) => canBe(field, value)) }
    }
    case 'between':
      return isOfType(resource.fields.get(condition.field), 'number', 'integer') ? condition : NEVER
    case 'time':
      return isOfType(resource.fields.get(condition.field), 'string') ? condition : NEVER
    case 'related':
    case 'climb': {
      const other = named(condition.resource)
      return other ? { ...condition, where: typed(condition.where, other, named) } : NEVER
    }
    case 'all':
    case 'some':
      return { ...condition, of: condition.of.map((part) => typed(part, resource, named)) }
    case 'not':
      return { ...condition, of: typed(condition.of, resource, named) }
    default:
      return condition
  }
}

function canBe(field: Field | undefined, value: Scalar): boolean {
  if (typeof value === 'number') return isOfType(field, 'number', 'integer')
  return isOfType(field, typeof value === 'boolean' ? 'boolean' : 'string')
}

/** A field whose type no schema says may have any. */
function isOfType(field: Field | undefined, ...types: readonly FieldType[]): boolean {
  return field === undefined || field.type === 'other' || types.includes(field.type)
}
