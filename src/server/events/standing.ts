/**
 * Whether somebody who follows events may go on: the credentials, the policy and the rights are looked at again while the
 * stream is open, by the checks that every request passes.
 */
import type { Caller } from '../../decide/caller.ts'
import type { Decision, WatchDecision } from '../../decide/decision.ts'
import { Refused } from '../../decide/refusal.ts'
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

/** The request that opened the stream. */
export interface FollowedRequest {
  readonly credentials: Credentials
  readonly accepted: AcceptedRequest
  readonly policy: ActivePolicy
  readonly decision: WatchDecision
}

export class Standing {
  readonly #parts: StandingParts
  readonly #asked: FollowedRequest
  #policy: ActivePolicy
  #caller: string
  #decision: WatchDecision

  constructor(parts: StandingParts, asked: FollowedRequest) {
    this.#parts = parts
    this.#asked = asked
    this.#policy = asked.policy
    this.#caller = textOf(asked.accepted.caller)
    this.#decision = asked.decision
  }

  get callerId(): string | undefined {
    return this.#asked.accepted.caller?.id
  }

  /**
   * The decision as it is now; undefined if the caller may not go on. `facts`: whether its record may have changed. Throws
   * what the store throws.
   */
  async again(facts: 'the same' | 'perhaps others'): Promise<WatchDecision | undefined> {
    const { now, policy, verifier, channel, gate } = this.#parts
    const { accepted, credentials } = this.#asked
    const at = now().getTime()
    const found = verifyCredentials(verifier, credentials)
    const authentication = found instanceof Promise ? await found : found
    if (authentication.kind === 'rejected' || authentication.kind === 'failed') return undefined
    if (channel?.state(at) === 'expired' || at >= (accepted.match.route.lifecycle?.sunsetAt ?? Infinity))
      return undefined
    const active = policy.at(at)
    const caller = authentication.kind === 'caller' ? callerNow(active, authentication.caller, at) : undefined
    if (caller?.id !== this.callerId) return undefined
    const text = textOf(caller)
    const isSame = active === this.#policy && text === this.#caller && facts === 'the same'
    if (isSame && this.#decision.sight.isSettled) return this.#decision
    const decision = await decisionOn(() => decideRequest(gate, active, { ...accepted, caller, at }))
    if (!decision) return undefined
    this.#policy = active
    this.#caller = text
    this.#decision = decision
    return decision
  }
}

/** Undefined for a refusal. */
async function decisionOn(decide: () => Decision | Promise<Decision>): Promise<WatchDecision | undefined> {
  try {
    const decision = await decide()
    return decision.kind === 'watch' ? decision : undefined
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

/** What of a caller can change while its credentials stay the same. */
function textOf(caller: Caller | undefined): string {
  return JSON.stringify([caller?.roles, caller?.recordRoles, caller?.granted])
}
