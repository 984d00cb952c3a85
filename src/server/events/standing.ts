/**
 * Whether somebody who follows events may go on: the credentials, the policy and the rights are looked at again while the
 * stream is open, by the checks that every request passes.
 */
import type { ProblemCode } from '../../base/problems/catalogue.ts'
import type { Caller } from '../../decide/caller.ts'
import type { WatchDecision } from '../../decide/decision.ts'
import type { Credentials, TokenVerifier } from '../../identity/caller.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { PolicyChannel } from '../policy-changes/follow-versions.ts'
import { callerNow, verifyCredentials } from '../stages/authenticate.ts'
import { decideRequest, type Gate } from '../stages/authorize.ts'
import type { AcceptedRequest } from '../stages/state.ts'

export interface StandingParts {
  readonly gate: Gate
  readonly verifier: TokenVerifier
  readonly policy: Pick<LivePolicy, 'at'>
  readonly channel: Pick<PolicyChannel, 'state'> | undefined
  readonly now: () => Date
}

/** Why somebody may not go on: the problem that the next request would get. */
export interface StandingEnd {
  readonly kind: 'ended'
  readonly problem: ProblemCode
  /** Why the credential is refused: for the decision record. */
  readonly reason?: string | undefined
}

/** The request that opened the stream. */
export interface FollowedRequest {
  readonly requestId: string
  /** In whose share of the log its records are. */
  readonly writer: string
  readonly credentials: Credentials
  readonly accepted: AcceptedRequest
  readonly policy: ActivePolicy
  readonly decision: WatchDecision
}

export class Standing {
  readonly #parts: StandingParts
  readonly #asked: FollowedRequest
  #policy: ActivePolicy
  #caller: Caller | undefined
  #decision: WatchDecision

  constructor(parts: StandingParts, asked: FollowedRequest) {
    this.#parts = parts
    this.#asked = asked
    this.#policy = asked.policy
    this.#caller = asked.accepted.caller
    this.#decision = asked.decision
  }

  get caller(): Caller | undefined {
    return this.#asked.accepted.caller
  }

  get callerId(): string | undefined {
    return this.caller?.id
  }

  /** The decision as it is now. `facts`: whether the record of the caller may have changed. */
  async again(facts: 'the same' | 'perhaps others'): Promise<WatchDecision | StandingEnd> {
    const { now, policy, verifier, channel, gate } = this.#parts
    const { accepted, credentials } = this.#asked
    const at = now().getTime()
    const found = verifyCredentials(verifier, credentials)
    const authentication = found instanceof Promise ? await found : found
    if (authentication.kind === 'rejected') return ended(authentication.code, authentication.reason)
    if (authentication.kind === 'failed') return ended(authentication.code)
    if (at >= (accepted.match.route.lifecycle?.sunsetAt ?? Infinity)) return ended('gone')
    if (channel?.state(at) === 'expired') return ended('policy-expired')
    const active = policy.at(at)
    const caller = authentication.kind === 'caller' ? callerNow(active, authentication.caller, at) : undefined
    if (caller?.id !== this.callerId) return ended('token-invalid')
    const isSame = facts === 'the same' && active === this.#policy && isSameCaller(caller, this.#caller)
    if (isSame && this.#decision.sight.isSettled) return this.#decision
    const decision = await decideRequest(gate, active, { ...accepted, caller, at })
    if (decision.kind !== 'watch') throw new Error(`a stream of events was decided as ${decision.kind}`)
    this.#policy = active
    this.#caller = caller
    this.#decision = decision
    return decision
  }
}

function ended(problem: ProblemCode, reason?: string): StandingEnd {
  return { kind: 'ended', problem, reason }
}

/** Whether nothing has changed that can change while the credentials stay the same. */
function isSameCaller(caller: Caller | undefined, before: Caller | undefined): boolean {
  return caller === before || textOf(caller) === textOf(before)
}

function textOf(caller: Caller | undefined): string {
  return JSON.stringify([caller?.roles, caller?.recordRoles, caller?.granted])
}
