/** The fields that a decision grants, of those that its action could grant; or the refusal of the change that was asked about. */
import { v7 as uuidv7 } from 'uuid'
import type { CreateDecision, Decision, UpdateDecision } from '../../decide/decision.ts'
import type { Evidence } from '../../decide/evidence.ts'
import { proposeNew, proposeReplacement, proposeUpdate } from '../../decide/permits/propose.ts'
import { isRefusal, type Refusal } from '../../decide/refusal.ts'
import { represent } from '../../resources/object.ts'
import type { Resource } from '../../resources/resource.ts'
import type { Asker } from './asker.ts'
import { type Evaluation, fieldsAsked, type Members } from './entities.ts'
import type { AskedRoute } from './route-asked.ts'

type Fields = ReadonlySet<string>

export interface GrantedFields {
  readonly kind: 'granted'
  readonly fields: Fields
  /** All fields that the action concerns; empty for an action on the whole object, and for a change that is given. */
  readonly all: Fields
  readonly evidence: Evidence
  /** Other values than the stored ones could be granted more. */
  readonly dependsOnBody?: boolean
}

export function fieldsGranted(
  asker: Asker,
  decision: Decision,
  target: AskedRoute,
  evaluation: Evaluation,
): GrantedFields | Refusal | Promise<GrantedFields | Refusal> {
  const { resource } = target
  const { evidence } = decision
  switch (decision.kind) {
    case 'read':
      return { kind: 'granted', fields: decision.shown, all: shownBy(asker, target), evidence }
    case 'delete':
      return { kind: 'granted', fields: allOf(resource), all: NO_FIELDS, evidence }
    case 'create':
      return grantedToCreate(asker, decision, resource, evaluation)
    case 'update':
      return grantedToUpdate(asker, decision, target, evaluation)
    default:
      throw new Error(`an evaluation is about one object, but the decision is of the kind ${decision.kind}`)
  }
}

/** The fields that an action on rows concerns; empty for an action on the whole object. */
export function fieldsConcerned(asker: Asker, target: AskedRoute): Fields {
  const { resource, endpoint } = target
  if (!resource.actions.get(endpoint.action)?.hasFields) return NO_FIELDS
  if (resource.external) return allOf(resource)
  return endpoint.operation === 'read' ? shownBy(asker, target) : writableOf(resource)
}

/** Those of the route's view. */
export function shownBy({ policy }: Asker, { resource, route: { view } }: AskedRoute): Fields {
  return view === undefined ? allOf(resource) : policy.snapshot.viewOf(resource.name, view)
}

/** The new object has the properties of the resource. Without any, only the policy is asked, about each field. */
async function grantedToCreate(
  asker: Asker,
  decision: CreateDecision,
  resource: Resource,
  evaluation: Evaluation,
): Promise<GrantedFields | Refusal> {
  const { properties } = evaluation.resource
  const all = writableOf(resource)
  const now = new Date(asker.now).toISOString()
  const proposal = proposeNew(resource, properties ?? {}, { id: uuidv7(), filled: decision.filled, now })
  const asked = fieldsAsked(evaluation) ?? (properties ? [] : all)
  const named = proposal.named.union(new Set(asked))
  const faults = properties ? proposal.faults : () => []
  const permitted = await asker.ask(decision.permit({ ...proposal, named, faults }))
  if (!isRefusal(permitted)) return { kind: 'granted', fields: all, all, evidence: permitted.evidence }
  const { check, evidence } = permitted
  if (properties || check !== 'write' || !evidence) return permitted
  return { kind: 'granted', fields: all.difference(new Set(evidence.fieldsRefused)), all, evidence }
}

/** With a body: whether the route would take it. Without one: the fields that could be written. */
async function grantedToUpdate(
  asker: Asker,
  decision: UpdateDecision,
  { resource, endpoint }: AskedRoute,
  { action }: Evaluation,
): Promise<GrantedFields | Refusal> {
  const all = writableOf(resource)
  const body = action.properties?.body
  if (!body) {
    const fields = all.intersection(await asker.ask(decision.writableAsIs()))
    const dependsOnBody = all.intersection(decision.writable).size > fields.size
    return { kind: 'granted', fields, all, evidence: decision.evidence, dependsOnBody }
  }
  const permitted = await asker.ask(decision.permit(proposalOf(decision, resource, endpoint.operation, body)))
  if (isRefusal(permitted)) return permitted
  return { kind: 'granted', fields: all.intersection(decision.writable), all: NO_FIELDS, evidence: permitted.evidence }
}

function proposalOf(decision: UpdateDecision, resource: Resource, operation: string, body: Members) {
  const { object, writable, readable, filled } = decision
  const before = represent(object)
  if (operation !== 'replace') return proposeUpdate(resource, body, before)
  return proposeReplacement(resource, body, { before, writable, readable, filled })
}

const NO_FIELDS: Fields = new Set()

/** Made once for each resource: most questions need them. */
const ALL = new WeakMap<Resource, Fields>()

function allOf(resource: Resource): Fields {
  return ALL.getOrInsertComputed(resource, ({ fields }) => new Set(fields.keys()))
}

function writableOf({ fields }: Resource): Fields {
  return new Set([...fields.values()].flatMap(({ name, readOnly }) => (readOnly ? [] : [name])))
}
