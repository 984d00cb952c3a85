/** The forms of an answer: which ones a request asks for, and a filter in each of them. */

import type { Condition } from '../../../decide/conditions/condition.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import { refuseFaultyMembers } from '../entities.ts'
import { type Sql, sqlOfCondition } from './condition-sql.ts'
import type { Dialect } from './dialect.ts'
import { postgresqlDialect } from './postgresql.ts'
import { type DescribedTables, readMapping } from './read-mapping.ts'
import type { Rows } from './rows.ts'
import { sqliteDialect } from './sqlite.ts'
import type { Mapping } from './tables.ts'
import { type Ucast, ucastOfCondition } from './ucast.ts'
import { Unsayable, unsayableProblem } from './unsayable.ts'

/** `options` of a request. */
export interface FormOptions {
  readonly ucast?: boolean
  readonly sql?: DescribedTables & { readonly dialect: Dialect['name']; readonly firstParameter?: number }
}

export interface Forms {
  /** Undefined where no schema declares it. */
  readonly resource: Resource | undefined
  readonly ucast: boolean
  readonly sql?: { readonly dialect: Dialect; readonly mapping: Mapping; readonly firstParameter: number }
}

const DIALECTS: Readonly<Record<Dialect['name'], Dialect>> = {
  postgresql: postgresqlDialect,
  sqlite: sqliteDialect,
}

const NO_TABLE: Mapping = { table: { name: [], columns: new Map() }, related: new Map() }

/** Throws Problem invalid-body. */
export function readForms({ ucast, sql }: FormOptions = {}, resources: Resources, type: string): Forms {
  const resource = resources.byName.get(type)
  const forms: Forms = { resource, ucast: ucast ?? sql === undefined }
  if (!sql) return forms
  const dialect = DIALECTS[sql.dialect]
  const named = (name: string) => resources.byName.get(name)
  const place = ['options', 'sql']
  const mapping = resource ? readMapping(sql, { resource, named, dialect, place }) : NO_TABLE
  if ('faults' in mapping) refuseFaultyMembers(mapping.faults)
  else return { ...forms, sql: { dialect, mapping, firstParameter: sql.firstParameter ?? 1 } }
  return forms
}

export type ToldFilter = ToldCondition & {
  readonly kind: 'always' | 'never' | 'condition'
  readonly fields?: { readonly always: readonly string[]; readonly sometimes: readonly ToldFields[] }
}

type ToldCondition = {
  /** Absent where nothing has to be compared: readers may take an empty `and` and an empty `or` for the same. */
  readonly ucast?: Ucast
  readonly sql?: Sql
}

type ToldFields = ToldCondition & {
  readonly fields: readonly string[]
}

/** The rows and the fields of a filter in each asked form. Throws Problem filter-unsayable. */
export function tellFilter({ where, fields }: Rows, forms: Forms): ToldFilter {
  const unsayable = new Unsayable()
  const { kind } = where
  const told = tell(where, forms, unsayable)
  const sometimes = fields?.sometimes.map((group) => ({
    fields: group.fields,
    ...tell(group.where, forms, unsayable),
  }))
  if (unsayable.reasons.length > 0) throw unsayableProblem(unsayable.reasons, '/options')
  return {
    kind: kind === 'always' || kind === 'never' ? kind : 'condition',
    ...told,
    ...(fields && sometimes ? { fields: { always: fields.always, sometimes } } : {}),
  }
}

function tell(where: Condition, { resource, ucast, sql }: Forms, unsayable: Unsayable): ToldCondition {
  const isPlain = resource === undefined || where.kind === 'always' || where.kind === 'never'
  return {
    ...(ucast && !isPlain ? { ucast: ucastOfCondition(where, { resource, unsayable }) } : {}),
    ...(sql ? { sql: sqlOfCondition(where, { ...sql, resource: resource?.name ?? '' }, unsayable) } : {}),
  }
}
