/** POST /access/v1/evaluation. */
import type { HandledRequest, Outcome, Services } from '../../routes/handler.ts'
import { decisionOf, recordOfAsked } from '../answer.ts'
import { evaluate } from '../ask.ts'
import { type Asker, askerOf } from '../asker.ts'
import { type Evaluation, type Members, readEvaluation } from '../entities.ts'

/** Throws Problem invalid-body. */
export async function answerEvaluation(services: Services, request: HandledRequest, body: Members): Promise<Outcome> {
  const evaluation = readEvaluation(body)
  return answerOne(askerOf(services.access, request), evaluation)
}

export async function answerOne(asker: Asker, evaluation: Evaluation): Promise<Outcome> {
  const evaluated = await evaluate(asker, evaluation)
  const asked = [recordOfAsked(evaluation, evaluated)]
  return { status: 200, headers: {}, body: decisionOf(asker, evaluated), asked }
}
