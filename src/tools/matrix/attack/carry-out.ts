/** Carries one attack out on a target, and compares what it reached with what the policy says. */

import { isObject } from '../../../base/is-object.ts'
import type { Representation } from '../../../resources/resource.ts'
import { credentialOf } from '../predict/arrange-cell.ts'
import type { Answer } from '../predict/predict.ts'
import type { Suite } from '../predict/suite.ts'
import type { Expectation } from '../read/expectation.ts'
import { type Exchange, exchangeOf } from '../run/result.ts'
import { ifMatchOf } from '../run/set-up.ts'
import { type HttpRequest, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type TargetPool, type TestTarget } from '../target/test-target.ts'
import { aim, type Ready } from './aim.ts'
import { type Met, mostConditions } from './conditions.ts'
import { differenceOf } from './difference.ts'
import type { Attack } from './plan-attacks.ts'
import type { Predicted } from './ways.ts'

/** `same`: as the policy says; `different`: a finding; `impossible`: it could not be tried, which proves nothing. */
export interface Reached {
  readonly attack: Attack
  readonly outcome: 'same' | 'different' | 'impossible'
  /** What the policy says. */
  readonly predicted?: number
  readonly status?: number
  /** One sentence, unless the outcome is `same`. */
  readonly why?: string
  /** For a finding: the request and its answer. */
  readonly exchange?: Exchange
}

export interface AttackContext {
  readonly suite: Suite
  readonly predicted: Predicted
  readonly pool: TargetPool
}

/** Rejects only for a bug in this program. */
export async function carryOut(context: AttackContext, attack: Attack): Promise<Reached> {
  try {
    return await onTarget(context, attack)
  } catch (error) {
    if (!(error instanceof CannotSetUp || error instanceof NoAnswer)) throw error
    return { attack, outcome: 'impossible', why: error.message }
  }
}

async function onTarget({ suite, predicted, pool }: AttackContext, attack: Attack): Promise<Reached> {
  const met = mostConditions(predicted.evaluated, attack.routeMethod, attack.attacker, Date.now())
  const { target, release } = await pool.lend(cellOf(attack, met))
  try {
    const ready = await aim({ suite, predicted, target }, attack)
    return await send({ target, predicted, met }, attack, ready)
  } finally {
    await release()
  }
}

/** The cell whose conditions hold on the target. */
function cellOf({ routeMethod: { method, route }, attacker: column }: Attack, { when }: Met): Expectation {
  const place = { file: '', line: 1, column: 1 }
  return { place, method, path: route.path, object: { kind: 'other' }, column, when, expected: { status: 200 } }
}

interface Sending {
  readonly target: TestTarget
  readonly predicted: Predicted
  readonly met: Met
}

async function send(sending: Sending, attack: Attack, ready: Ready): Promise<Reached> {
  const { target } = sending
  const predicted = await predictFor(sending, attack, ready)
  const request = await withIfMatch(target, attack, ready)
  const answer = await target.ask(request, predicted.status)
  await target.note(attack.routeMethod.resource.name, answer, ready.request.token)
  const why = differenceOf({ attack, predicted, answer, victims: ready.victims })
  const outcome = { attack, predicted: predicted.status, status: answer.status } as const
  if (why === undefined) return { ...outcome, outcome: 'same' }
  return { ...outcome, outcome: 'different', why, exchange: exchangeOf(request, answer) }
}

async function withIfMatch(target: TestTarget, { routeMethod }: Attack, { request, id }: Ready): Promise<HttpRequest> {
  const { route, resource, method } = routeMethod
  const asked = { route, resource, method, id: id === undefined ? undefined : encodeURIComponent(id) }
  return { ...request, headers: await ifMatchOf(target, asked, request) }
}

function predictFor(
  { target, predicted: { evaluated, predictor }, met }: Sending,
  { routeMethod }: Attack,
  { request, attacker, id, world }: Ready,
): Promise<Answer> {
  const body = isObject(request.body ?? null) ? (request.body as Representation) : undefined
  const byResource = [...Map.groupBy(world, ({ resource }) => resource)]
  const objects = new Map(
    byResource.map(([name, some]) => [name, new Map(some.map(({ object }) => [String(object.id), object]))]),
  )
  const caller = attacker && { ...attacker, ...credentialOf(met.facts) }
  return predictor.predict({
    evaluated,
    routeMethod,
    caller,
    id,
    body,
    objects,
    conditional: true,
    facts: { ...met.facts, now: target.now() },
  })
}
