/** POST /access/v1/evaluations: several questions, with defaults, each answered by itself. */
import { onceKnown, orElse } from '../../../base/now-or-later.ts'
import { Problem } from '../../../base/problems/problem.ts'
import type { AskedRecord } from '../../../decision-log/decision-record.ts'
import type { Json } from '../../../resources/resource.ts'
import type { HandledRequest, Outcome, Services } from '../../routes/handler.ts'
import { decisionOf, recordOfAsked } from '../answer.ts'
import { type Evaluated, evaluate } from '../ask.ts'
import { type Asker, askerOf } from '../asker.ts'
import {
  type Evaluation,
  type Evaluations,
  type FaultyItem,
  type Members,
  readEvaluations,
  type Semantic,
} from '../entities.ts'
import { answerInSlices } from '../in-slices.ts'
import { answerOne } from './evaluation.ts'

/** An answer, and its record if the item was an evaluation. */
interface Answered {
  readonly decision: boolean
  readonly body: Json
  readonly asked?: AskedRecord
}

/** Throws Problem invalid-body, and quota-exceeded for too many at a time. */
export async function answerEvaluations(services: Services, request: HandledRequest, body: Members): Promise<Outcome> {
  const asker = askerOf(services.access, request)
  const evaluations = readEvaluations(body)
  if (!('items' in evaluations)) return answerOne(asker, evaluations)
  const answered = await asker.atLength(() => answerAll(asker, evaluations))
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
function answerAll(asker: Asker, { items, semantic }: Evaluations): Promise<readonly Answered[]> {
  return answerInSlices<Evaluation | FaultyItem, Answered>(asker, items, {
    most: semantic === 'execute_all' ? MOST_TOGETHER : 1,
    answer: (item) => answerItem(asker, item),
    isLast: ({ decision }) => decision === STOPS[semantic],
  })
}

/** The decision that ends a batch. */
const STOPS: Readonly<Record<Semantic, boolean | undefined>> = {
  execute_all: undefined,
  deny_on_first_deny: false,
  permit_on_first_permit: true,
}

function answerItem(asker: Asker, item: Evaluation | FaultyItem): Answered | Promise<Answered> {
  if ('faults' in item) return { decision: false, body: faultyDecision(asker, item) }
  const found = orElse<Evaluated | FaultyItem>(() => evaluate(asker, item), faultsOf)
  return onceKnown(found, (evaluated): Answered => {
    if ('faults' in evaluated) return { decision: false, body: faultyDecision(asker, evaluated) }
    const { decision } = evaluated
    return { decision, body: decisionOf(asker, evaluated), asked: recordOfAsked(item, evaluated) }
  })
}

/** What one item tells may not fit; the others are answered. */
function faultsOf(error: unknown): FaultyItem {
  if (error instanceof Problem && error.code === 'invalid-body') return { faults: error.errors }
  throw error
}

/** AuthZEN 1.0, section 7: an error of one item is a decision that is false. */
function faultyDecision({ policy }: Asker, { faults }: FaultyItem): Json {
  const message = faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
  const error = { status: 400, message }
  return { decision: false, context: { reason: 'item-invalid', revision: policy.revision, error } }
}
