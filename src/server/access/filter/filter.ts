/** POST /access/v1/filter: the rows of somebody else's table on which a subject may do an action. */
import type { Caller } from '../../../decide/caller.ts'
import type { Condition } from '../../../decide/conditions/condition.ts'
import type { FilterDecision } from '../../../decide/conditions/filter-decision.ts'
import { actionNamed } from '../../../decide/grants/trust.ts'
import { faultsOfFilter } from '../../../resources/built-in/access.ts'
import type { HandledRequest, Outcome, Services } from '../../routes/handler.ts'
import { recordOfAsked } from '../answer.ts'
import type { Evaluated } from '../ask.ts'
import { type Asker, askerOf } from '../asker.ts'
import { type Evaluation, fieldsAsked, type Members, refuseFaultyMembers } from '../entities.ts'
import { fieldsConcerned } from '../granted.ts'
import { type AskedRoute, routeAsked } from '../route-asked.ts'
import { subjectOf } from '../subject.ts'
import { fitTypes } from './fit-types.ts'
import { type FormOptions, readForms, tellFilter } from './forms.ts'
import { grantedInEveryCase } from './in-every-case.ts'
import { type Rows, rowsGranted } from './rows.ts'
import { unsayableProblem } from './unsayable.ts'

/** An evaluation about every object of the resource. */
export interface FilterRequest extends Omit<Evaluation, 'resource'> {
  readonly resource: Omit<Evaluation['resource'], 'id'>
  readonly options?: FormOptions
}

/** Throws Problem invalid-body and filter-unsayable. */
export async function answerFilter(services: Services, request: HandledRequest, body: Members): Promise<Outcome> {
  const asker = askerOf(services.access, request)
  refuseFaultyMembers(faultsOfFilter(body))
  const asked = body as unknown as FilterRequest
  const forms = readForms(asked.options, asker.resources, asked.resource.type)
  const filtered = await filter(asker, asked)
  const told = tellFilter(filtered.rows, forms)
  const { reason } = filtered
  const context = { ...(reason === undefined ? {} : { reason }), revision: asker.policy.revision }
  const evaluated: Evaluated = { ...filtered, decision: told.kind !== 'never' }
  return { status: 200, headers: {}, body: { ...told, context }, asked: [recordOfAsked(asked, evaluated)] }
}

interface Filtered extends Omit<Evaluated, 'decision' | 'fields'> {
  readonly rows: Rows
}

const NOTHING: Rows = { where: { kind: 'never' }, fields: undefined }

/** Throws what the store throws, and Problem filter-unsayable for what can't be asked about all rows at once. */
export async function filter(asker: Asker, asked: FilterRequest): Promise<Filtered> {
  const { subject, resource, action } = asked
  if (action.properties?.body !== undefined) {
    const reason = 'the values after a change are judged for one object: ask an evaluation, or leave the body out'
    throw unsayableProblem([reason], '/action/properties/body')
  }
  const target = routeAsked(asker.resources, resource.type, actionNamed(asker.trust, resource.type, action.name))
  if ('reason' in target) return { rows: NOTHING, reason: target.reason }
  const { operation, action: known } = target.endpoint
  if (operation === 'create') throw unsayableProblem([`\`${known}\` concerns no stored rows`], '/action/name')
  const found = await subjectOf(asker, subject)
  if ('reason' in found) return { rows: NOTHING, reason: found.reason }
  const { caller } = found
  const decision = await grantedInEveryCase(asker, { target, subject: found, evaluation: asked })
  if ('reason' in decision) return { ...decision, rows: NOTHING, caller, action: known }
  return { caller, action: known, ...rowsFor(asker, { target, caller, asked }, decision) }
}

interface About {
  readonly target: AskedRoute
  readonly caller: Caller
  readonly asked: FilterRequest
}

function rowsFor(
  asker: Asker,
  { target, caller, asked }: About,
  { granted, evidence }: FilterDecision,
): Omit<Filtered, 'caller' | 'action'> {
  const { resources, trust } = asker
  const fields = fieldsAsked(asked)
  if (fields?.some((name) => !target.resource.fields.has(name))) return { rows: NOTHING, reason: 'fields-refused' }
  const typed = granted.map((group) => {
    const where = ofRoute(target, caller, group.where)
    return { ...group, where: fitTypes(where, target.resource, (name) => resources.byName.get(name)) }
  })
  const all = fieldsConcerned(asker, target)
  const rows = rowsGranted(typed, { all, asked: fields, understandsFields: trust.understandsFields })
  return { rows, evidence: { ...evidence, facts: { ...evidence.facts, where: rows.where } } }
}

/** Such a route shows the caller's own record, whatever the policy grants. */
function ofRoute({ route }: AskedRoute, { id }: Caller, where: Condition): Condition {
  return route.kind === 'caller' ? { kind: 'all', of: [{ kind: 'holds', field: 'id', values: [id] }, where] } : where
}
