/** POST /access/v1/evaluation. */
import { onceKnown } from '../../../base/now-or-later.ts'
import type { HandledRequest, Outcome, Services } from '../../routes/handler.ts'
import { decisionOf, recordOfAsked } from '../answer.ts'
import { evaluate } from '../ask.ts'
import { type Asker, askerOf } from '../asker.ts'
import { type Evaluation, type Members, readEvaluation } from '../entities.ts'

/** Throws Problem invalid-body. */
export function answerEvaluation(
  services: Services,
  request: HandledRequest,
  body: Members,
): Outcome | Promise<Outcome> {
  const evaluation = readEvaluation(body)
  return answerOne(askerOf(services.access, request), evaluation)
}

export function answerOne(asker: Asker, evaluation: Evaluation): Outcome | Promise<Outcome> {
  const found = asker.store.atOnce(() => evaluate(asker, evaluation))
  return onceKnown(found, (evaluated) => {
    const asked = [recordOfAsked(evaluation, evaluated)]
    return { status: 200, headers: {}, body: decisionOf(asker, evaluated), asked }
  })
}
