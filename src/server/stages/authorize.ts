/**
 * The one authorization middleware. Every method of every route passes here, OPTIONS included, and nothing else
 * decides, except the permits that its decision gives out.
 */
import { decide } from '../../decide/decide.ts'
import { orRefuse } from '../../decide/refusal.ts'
import { decideRequest, questionAsked, toDecide, type WriteGate } from '../decide-request.ts'
import { decideAhead } from './authenticate.ts'
import type { Accepted, Addressed, Authenticated, Authorized, Forwarding, Received, Stage } from './state.ts'

/** Leaves a decision, or throws Refused or a fault. */
export function authorize(
  gate: WriteGate,
): Stage<Received & Addressed & Authenticated & Accepted & Forwarding, Authorized> {
  return async (ctx, next) => {
    const { policy, ahead } = ctx.state
    const asked = toDecide(ctx.state)
    const early = ahead && decideAhead(decide(questionAsked(gate, policy, asked), policy.snapshot), ahead)
    const decideNow = () => decideRequest(gate, policy, asked)
    // With an object at hand that isn't enough, all facts are read in one state. Others may need nothing of the store.
    ctx.state.decision = early ? orRefuse(early) : await (ahead ? gate.store.atOnce(decideNow) : decideNow())
    return next()
  }
}
