/**
 * POST /access/v1/evaluation and /evaluations: an evaluation as the service gets it (a decision of AuthZEN), and as
 * the decision record keeps it; and the metadata, which say where each part of the Authorization API answers.
 */
import { onceKnown, orElse } from '../../base/now-or-later.ts'
import { Problem } from '../../base/problems/problem.ts'
import { grantNumbers } from '../../decide/caller.ts'
import { rulePlace } from '../../decide/evidence.ts'
import { type AskedRecord, cutName, MOST_FIELDS_ASKED } from '../../decision-log/decision-record.ts'
import { METADATA_PATH } from '../../resources/built-in/access.ts'
import type { Json, Resource } from '../../resources/resource.ts'
import type { HandledRequest, Outcome, Services } from '../routes/handler.ts'
import { type Evaluated, evaluate } from './ask.ts'
import {
  type Evaluation,
  type Evaluations,
  type FaultyItem,
  fieldsAsked,
  type Members,
  readEvaluation,
  readEvaluations,
  type Semantic,
} from './entities.ts'
import { answerInSlices, type Pep, pepOf } from './pep.ts'
import type { DenialReason } from './trust.ts'

/** Throws Problem invalid-body. */
export function answerEvaluation(
  services: Services,
  request: HandledRequest,
  body: Members,
): Outcome | Promise<Outcome> {
  const evaluation = readEvaluation(body)
  return answerOne(pepOf(services.access, request), evaluation)
}

function answerOne(pep: Pep, evaluation: Evaluation): Outcome | Promise<Outcome> {
  const found = pep.slices.decide(
    () => pep.whose,
    pep.gone,
    () => pep.store.inOneReadTransaction(() => evaluate(pep, evaluation)),
  )
  return onceKnown(found, (evaluated) => {
    const asked = [recordOfAsked(pep, evaluation, evaluated)]
    return { status: 200, headers: {}, body: decisionOf(pep, evaluated), asked }
  })
}

/** An answer, and its record if the item was an evaluation. */
interface AnsweredItem {
  readonly decision: boolean
  readonly body: Json
  readonly asked?: AskedRecord
}

/** Throws Problem invalid-body, and quota-exceeded for too many at a time. */
export async function answerEvaluations(services: Services, request: HandledRequest, body: Members): Promise<Outcome> {
  const pep = pepOf(services.access, request)
  const evaluations = readEvaluations(body)
  if (!('items' in evaluations)) return answerOne(pep, evaluations)
  const answered = await pep.atLength(() => answerAll(pep, evaluations))
  return {
    status: 200,
    headers: {},
    body: { evaluations: answered.map((one) => one.body) },
    asked: answered.flatMap(({ asked }) => asked ?? []),
  }
}

/** Items that are answered at the same time, at most: a store may answer their questions together. */
const MOST_TOGETHER = 25

/** With a semantic that stops, each decision is waited for. */
function answerAll(pep: Pep, { items, semantic }: Evaluations): Promise<readonly AnsweredItem[]> {
  return answerInSlices<Evaluation | FaultyItem, AnsweredItem>(pep, items, {
    most: semantic === 'execute_all' ? MOST_TOGETHER : 1,
    answer: (item) => answerItem(pep, item),
    isLast: ({ decision }) => decision === STOPS[semantic],
  })
}

/** The decision that ends a batch. */
const STOPS: Readonly<Record<Semantic, boolean | undefined>> = {
  execute_all: undefined,
  deny_on_first_deny: false,
  permit_on_first_permit: true,
}

function answerItem(pep: Pep, item: Evaluation | FaultyItem): AnsweredItem | Promise<AnsweredItem> {
  if ('faults' in item) return { decision: false, body: faultyDecision(pep, item) }
  const found = orElse<Evaluated | FaultyItem>(() => evaluate(pep, item), faultsOf)
  return onceKnown(found, (evaluated): AnsweredItem => {
    if ('faults' in evaluated) return { decision: false, body: faultyDecision(pep, evaluated) }
    const { decision } = evaluated
    return { decision, body: decisionOf(pep, evaluated), asked: recordOfAsked(pep, item, evaluated) }
  })
}

/** One item may not fit; the others are answered. */
function faultsOf(error: unknown): FaultyItem {
  if (error instanceof Problem && error.code === 'invalid-body') return { faults: error.errors }
  throw error
}

/** Many items may share the same long names, and each tells its own faults. */
const MOST_FAULTS = 10

/** AuthZEN 1.0, section 7: an error of one item is a decision that is false. */
function faultyDecision({ policy }: Pep, { faults }: FaultyItem): Json {
  const texts = faults.slice(0, MOST_FAULTS).map(({ pointer, detail }) => `${cutName(pointer)} ${detail}`)
  const left = faults.length - texts.length
  const message = [...texts, ...(left > 0 ? [`and ${left} more`] : [])].join('; ')
  const error = { status: 400, message }
  return { decision: false, context: { reason: 'item-invalid', revision: policy.revision, error } }
}

interface RecordedEvaluation extends Pick<Evaluation, 'subject' | 'action' | 'context'> {
  readonly resource: Omit<Evaluation['resource'], 'id'> & { readonly id?: string }
}

/** Rule lines go to the record, not to strangers. */
function decisionOf({ policy }: Pep, { decision, reason, fields }: Evaluated): Json {
  const context = {
    ...(reason === undefined ? {} : { reason }),
    revision: policy.revision,
    ...(fields === undefined ? {} : { fields }),
  }
  return { decision, context }
}

/** With these reasons, a name was not found, or not looked for. */
const UNKNOWN: readonly DenialReason[] = ['subject-type', 'subject-unknown', 'resource-unknown', 'action-unknown']

/** Without the id of a resource, the question is about all objects. */
export function recordOfAsked(
  { policy: { snapshot }, resources }: Pick<Pep, 'policy' | 'resources'>,
  about: RecordedEvaluation,
  evaluated: Evaluated,
): AskedRecord {
  const { subject, resource, action } = about
  const { decision, reason, evidence, caller, action: known } = evaluated
  const cut = reason !== undefined && UNKNOWN.includes(reason) ? cutName : (name: string) => name
  const id = reason === 'object-missing' ? cutName(resource.id ?? '') : resource.id
  return {
    ...(subject.type === 'user' ? {} : { subjectType: cut(subject.type) }),
    subject: cut(subject.id),
    roles: caller?.roles,
    rolesLost: caller && snapshot.rolesLostBy(caller),
    ...(caller?.granted && grantNumbers(caller.granted)),
    resource: cut(resource.type),
    objectId: id === undefined ? undefined : cut(id),
    action: known ?? cut(action.name),
    fieldsAsked: evidence && namedFields(about, resources.byName.get(resource.type)),
    decision,
    reason,
    relations: evidence?.relations,
    rules: evidence?.lines.map(rulePlace),
    fieldsRefused: evidence?.fieldsRefused.length ? evidence.fieldsRefused : undefined,
    facts: evidence?.facts,
  }
}

/** A service could fill the log with names that no schema declares: `?` stands for them. */
function namedFields(evaluation: RecordedEvaluation, resource: Resource | undefined): readonly string[] {
  const named = new Set(fieldsAsked(evaluation)?.map((name) => (resource?.fields.has(name) ? name : '?')))
  return [...named].slice(0, MOST_FIELDS_ASKED)
}

const ENDPOINTS: Readonly<Record<string, string>> = {
  '/access/v1/evaluation': 'access_evaluation_endpoint',
  '/access/v1/evaluations': 'access_evaluations_endpoint',
  '/access/v1/search/subject': 'search_subject_endpoint',
  '/access/v1/search/resource': 'search_resource_endpoint',
  '/access/v1/search/action': 'search_action_endpoint',
}

/** The base is configured: a header Host may be anything. */
export function showMetadata({ access }: Services, { resource }: HandledRequest): Outcome {
  const base = access.publicUrl()
  const endpoints = resource.routes.flatMap(({ path }) => {
    const name = ENDPOINTS[path]
    return name === undefined || path === METADATA_PATH ? [] : [[name, base + path] as const]
  })
  return { status: 200, headers: {}, body: { policy_decision_point: base, ...Object.fromEntries(endpoints) } }
}
