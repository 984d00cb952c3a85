/**
 * POST of a filter: the rows on which an evaluation of the same question is true, and the fields that are granted, in
 * the forms that a request asks for.
 */
import type { Caller } from '../../../decide/caller.ts'
import type { Condition } from '../../../decide/conditions/condition.ts'
import { decideFilter, type FilterDecision } from '../../../decide/conditions/filter-decision.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { GrantedWhere } from '../../../decide/grants/grant-table.ts'
import { actionNamed } from '../../../decide/grants/trust.ts'
import { isRefusal, type Refusal } from '../../../decide/refusal.ts'
import type { RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import { faultsOfFilter } from '../../../resources/built-in/access.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import type { HandledRequest, Outcome, Services } from '../../routes/handler.ts'
import { type Evaluated, fieldsConcerned, questionOf } from '../ask.ts'
import { type AskedRoute, routeAsked } from '../asked-routes.ts'
import { type Evaluation, fieldsAsked, type Members, refuseFaultyMembers } from '../entities.ts'
import { recordOfAsked } from '../evaluate.ts'
import { type Deciding, type Pep, pepOf } from '../pep.ts'
import {
  type DenialReason,
  denialReasonOf,
  type KnownSubject,
  knownConditions,
  MOST_UNKNOWN_CONDITIONS,
  nonEmptySubsets,
  subjectOf,
} from '../trust.ts'
import {
  type Dialect,
  type Mapping,
  type Sql,
  sqlOfCondition,
  Unsupported,
  unsupportedProblem,
} from './condition-sql.ts'
import { postgresqlDialect } from './postgresql.ts'
import { type DescribedTables, fitTypes, readMapping } from './read-mapping.ts'
import { sqliteDialect } from './sqlite.ts'
import { type Ucast, ucastOfCondition } from './ucast.ts'

/** An evaluation about every object of the resource. */
export interface FilterRequest extends Omit<Evaluation, 'resource'> {
  readonly resource: Omit<Evaluation['resource'], 'id'>
  readonly options?: FormOptions
}

/** Throws Problem invalid-body and filter-unsayable. */
export async function answerFilter(services: Services, request: HandledRequest, body: Members): Promise<Outcome> {
  const pep = pepOf(services.access, request)
  refuseFaultyMembers(faultsOfFilter(body))
  const asked = body as unknown as FilterRequest
  const forms = readForms(asked.options, pep.resources, asked.resource.type)
  const filtered = await filter(pep, asked)
  const filterBody = filterBodyOf(filtered.rows, forms)
  const { reason } = filtered
  const context = { ...(reason === undefined ? {} : { reason }), revision: pep.policy.revision }
  const evaluated: Evaluated = { ...filtered, decision: filterBody.kind !== 'never' }
  return { status: 200, headers: {}, body: { ...filterBody, context }, asked: [recordOfAsked(pep, asked, evaluated)] }
}

interface Filtered extends Omit<Evaluated, 'decision' | 'fields'> {
  readonly rows: FilterRows
}

const NOTHING: FilterRows = { where: { kind: 'never' }, fields: undefined }

/** Throws what the store throws, and Problem filter-unsayable for what can't be asked about all rows at once. */
export async function filter(pep: Pep, asked: FilterRequest): Promise<Filtered> {
  const { subject, resource, action } = asked
  if (action.properties?.body !== undefined) {
    const reason = 'the values after a change are judged for one object: ask an evaluation, or leave the body out'
    throw unsupportedProblem([reason], '/action/properties/body')
  }
  const target = routeAsked(pep.resources, resource.type, actionNamed(pep.trust, resource.type, action.name))
  if ('reason' in target) return { rows: NOTHING, reason: target.reason }
  const { operation, action: known } = target.endpoint
  if (target.route.command) {
    const reason = `what the command \`${known}\` makes of an object is judged for one object: ask an evaluation or a search`
    throw unsupportedProblem([reason], '/action/name')
  }
  if (operation === 'create') throw unsupportedProblem([`\`${known}\` concerns no stored rows`], '/action/name')
  const found = await subjectOf(pep, subject)
  if ('reason' in found) return { rows: NOTHING, reason: found.reason }
  return filterFor(pep, { target, subject: found, asked })
}

/** What a filter about a known subject needs. */
export type Filtering = Deciding & Pick<Pep, 'nextSlice' | 'gone'>

interface KnownFilter {
  readonly target: AskedRoute
  readonly subject: KnownSubject
  readonly asked: FilterRequest
}

export async function filterFor(pep: Filtering, { target, subject, asked }: KnownFilter): Promise<Filtered> {
  const { caller } = subject
  const { action } = target.endpoint
  const decision = await grantedInEveryCase(pep, { target, subject, evaluation: asked })
  if ('reason' in decision) return { ...decision, rows: NOTHING, caller, action }
  return { caller, action, ...rowsFor(pep, { target, caller, asked }, decision) }
}

interface FilterQuestion {
  readonly target: AskedRoute
  readonly caller: Caller
  readonly asked: FilterRequest
}

function rowsFor(
  pep: Deciding,
  { target, caller, asked }: FilterQuestion,
  { granted, evidence }: FilterDecision,
): Omit<Filtered, 'caller' | 'action'> {
  const { resources, trust } = pep
  const fields = fieldsAsked(asked)
  if (fields?.some((name) => !target.resource.fields.has(name)))
    return { rows: NOTHING, reason: 'fields-refused', evidence }
  const typed = granted.map((group) => {
    const where = ofRoute(target, caller, group.where)
    return { ...group, where: fitTypes(where, target.resource, (name) => resources.byName.get(name)) }
  })
  const all = fieldsConcerned(pep, target)
  const rows = rowsGranted(typed, { all, asked: fields, understandsFields: trust.understandsFields })
  return { rows, evidence: { ...evidence, facts: { ...evidence.facts, where: rows.where } } }
}

/** Such a route shows the caller's own record, whatever the policy grants. */
function ofRoute({ route }: AskedRoute, { id }: Caller, where: Condition): Condition {
  return route.kind === 'caller' ? { kind: 'all', of: [{ kind: 'holds', field: 'id', values: [id] }, where] } : where
}

/** `options` of a request. */
interface FormOptions {
  readonly ucast?: boolean
  readonly sql?: DescribedTables & { readonly dialect: Dialect['name']; readonly firstParameter?: number }
}

interface Forms {
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

type FilterBody = ConditionForms & {
  readonly kind: 'always' | 'never' | 'condition'
  readonly fields?: { readonly always: readonly string[]; readonly sometimes: readonly FieldsForms[] }
}

type ConditionForms = {
  /** Absent where nothing has to be compared: readers may take an empty `and` and an empty `or` for the same. */
  readonly ucast?: Ucast
  readonly sql?: Sql
}

type FieldsForms = ConditionForms & {
  readonly fields: readonly string[]
}

/** The rows and the fields of a filter in each asked form. Throws Problem filter-unsayable. */
export function filterBodyOf({ where, fields }: FilterRows, forms: Forms): FilterBody {
  const unsupported = new Unsupported()
  const { kind } = where
  const rows = conditionForms(where, forms, unsupported)
  const sometimes = fields?.sometimes.map((group) => ({
    fields: group.fields,
    ...conditionForms(group.where, forms, unsupported),
  }))
  if (unsupported.reasons.length > 0) throw unsupportedProblem(unsupported.reasons, '/options')
  return {
    kind: kind === 'always' || kind === 'never' ? kind : 'condition',
    ...rows,
    ...(fields && sometimes ? { fields: { always: fields.always, sometimes } } : {}),
  }
}

function conditionForms(where: Condition, { resource, ucast, sql }: Forms, unsupported: Unsupported): ConditionForms {
  const isPlain = resource === undefined || where.kind === 'always' || where.kind === 'never'
  return {
    ...(ucast && !isPlain ? { ucast: ucastOfCondition(where, { resource, unsupported }) } : {}),
    ...(sql ? { sql: sqlOfCondition(where, { ...sql, resource: resource?.name ?? '' }, unsupported) } : {}),
  }
}

interface AskedRows {
  readonly target: AskedRoute
  readonly subject: KnownSubject
  readonly evaluation: Pick<Evaluation, 'action' | 'context'>
}

type RefusedFilter = { readonly reason: DenialReason; readonly evidence?: Refusal['evidence'] }

/** Throws what the store throws, and Problem invalid-body for what callers.yaml lets the service assert. */
async function grantedInEveryCase(pep: Filtering, asked: AskedRows): Promise<FilterDecision | RefusedFilter> {
  const { target, subject } = asked
  const known = knownConditions(pep, asked.evaluation, subject)
  const unknown = new Set<string>()
  const decideWith = (assumed: ReadonlySet<string>) => {
    const holding = (condition: RequestCondition) => {
      const holds = known(condition)
      if (holds === undefined) unknown.add(condition.name)
      return holds ?? assumed.has(condition.name)
    }
    const about = { target, subject, evaluation: { resource: {} }, holding }
    return pep.ask(decideFilter(questionOf(pep, about), pep.policy.snapshot))
  }
  const first = await decideWith(new Set())
  const { evidence } = first
  if (unknown.size > MOST_UNKNOWN_CONDITIONS) return { reason: 'condition-unknown', evidence }
  const all = [first]
  for (const assumed of nonEmptySubsets([...unknown])) {
    await pep.nextSlice()
    pep.gone().throwIfAborted()
    all.push(await decideWith(assumed))
  }
  const cases = all.filter((one) => !isRefusal(one))
  if (isRefusal(first)) return { reason: cases.length > 0 ? 'condition-unknown' : denialReasonOf(first), evidence }
  // What a service doesn't assert of a subject is unknown, and may be what a deny asks for.
  if (subject.isAsserted && first.lacking.length > 0) return { reason: 'attributes-missing', evidence }
  if (cases.length < all.length) return { reason: 'condition-unknown', evidence }
  return cases.length === 1 ? first : { ...first, granted: inAll(cases) }
}

/** The cases have the same groups of fields, in the same order: the views tell them apart, and no condition. */
function inAll(cases: readonly FilterDecision[]): FilterDecision['granted'] {
  const [first, ...others] = cases
  return (first?.granted ?? []).map(({ fields, where }, i) => {
    const also = others.map(({ granted }): Condition => granted[i]?.where ?? { kind: 'never' })
    return { fields, where: { kind: 'all', of: [where, ...also] } }
  })
}

interface AskedFields {
  /** The fields that the action concerns; empty for an action on the whole object. */
  readonly all: ReadonlySet<string>
  /** The fields that the question names; undefined for none. */
  readonly asked: readonly string[] | undefined
  /** Whether the service heeds the fields of an answer; otherwise a row needs all of them. */
  readonly understandsFields: boolean
}

interface FilterRows {
  readonly where: Condition
  /** The fields that are granted on each row, and those on some; undefined for an action on the whole object. */
  readonly fields: RowsFields | undefined
}

interface RowsFields {
  readonly always: readonly string[]
  /** Each group with the rows on which it is granted. */
  readonly sometimes: readonly GrantedWhere[]
}

const NEVER: FilterRows = { where: { kind: 'never' }, fields: undefined }

function rowsGranted(granted: readonly GrantedWhere[], { all, asked, understandsFields }: AskedFields): FilterRows {
  const [whole] = granted
  if (all.size === 0) return whole?.fields.includes('*') ? { where: simplify(whole.where), fields: undefined } : NEVER
  if (asked?.some((name) => !all.has(name))) return NEVER
  const wanted = new Set(asked ?? all)
  const groups = granted
    .map(({ fields, where }) => ({ fields: fields.filter((name) => wanted.has(name)), where: simplify(where) }))
    .filter(({ fields }) => fields.length > 0)
  if (groups.length === 0) return NEVER
  const of = groups.map(({ where }) => where)
  if (asked || !understandsFields) {
    return { where: simplify({ kind: 'all', of }), fields: { always: [...wanted], sometimes: [] } }
  }
  const where = simplify({ kind: 'some', of })
  return { where, fields: fieldsOf(groups, where) }
}

/** Groups that are granted on the same rows are one. */
function fieldsOf(groups: readonly GrantedWhere[], where: Condition): RowsFields {
  const alike = Map.groupBy(groups, (group) => JSON.stringify(group.where))
  const always = alike.get(JSON.stringify(where)) ?? []
  const sometimes = [...alike.values()].flatMap(([first, ...others]) => {
    if (!first || first.where.kind === 'never' || always.includes(first)) return []
    return [{ where: first.where, fields: [first, ...others].flatMap(({ fields }) => fields) }]
  })
  return { always: always.flatMap(({ fields }) => fields), sometimes }
}
