/**
 * Refuses requests that this process can't decide by a policy that is new enough: for the server, because the published
 * versions can't be read for too long, or for the client, who names the version that it needs.
 */
import { Problem } from '../../base/problems/problem.ts'
import type { PolicyChannel } from '../policy-changes/follow-versions.ts'
import type { Stage } from './stage.ts'
import type { Accepted, Received } from './state.ts'

/** A restart, which liveness may lead to, would not make the versions readable. */
const LIVENESS = '/livez'

const AT_LEAST = 'policy-sequence-at-least'

/** Throws Problem. `channel`: undefined for a policy from a folder. */
export function requirePolicy(channel: PolicyChannel | undefined): Stage<Received & Accepted> {
  return (ctx, next) => {
    const { policy, at, accepted } = ctx.state
    if (channel?.state(at) === 'expired' && accepted.match.route.path !== LIVENESS) throw expired()
    const wanted = ctx.req.headers[AT_LEAST]
    if (wanted !== undefined) refuseBehind(String(wanted), policy.sequence)
    return next()
  }
}

function refuseBehind(wanted: string, sequence: number | undefined): void {
  if (sequence === undefined) {
    throw new Problem(
      'invalid-policy-sequence',
      'The policy of this server has no sequence; omit the header Policy-Sequence-At-Least.',
    )
  }
  if (!/^\d{1,15}$/.test(wanted)) {
    throw new Problem(
      'invalid-policy-sequence',
      'Policy-Sequence-At-Least is not a whole number; send the number of a header Policy-Sequence.',
    )
  }
  if (sequence >= Number(wanted)) return
  throw new Problem('policy-behind', `This instance has version ${sequence} of the policy; try again.`, {
    headers: { 'Retry-After': '1' },
  })
}

function expired(): Problem {
  return new Problem('policy-expired', 'The server could not read its policy for too long; try again later.', {
    headers: { 'Retry-After': '5' },
  })
}
