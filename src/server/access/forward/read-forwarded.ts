/**
 * For requests of gateways: `recognizeGateway` comes before every stage that can refuse, so that each refusal has the
 * status and the headers that a gateway understands. After `readForwarded`, the request is the one that the gateway's
 * client sent. Limits count it, the policy decides it and the record tells it as if it had come here itself; only the
 * answer differs.
 */
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../../base/problems/problem.ts'
import type { TokenVerifier } from '../../../identity/caller.ts'
import type { Gateway, Resources } from '../../../resources/resource.ts'
import {
  createRouteMatcher,
  forwardedRoutes,
  type Match,
  type RouteMatch,
  type Routers,
} from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import type { Gate } from '../../stages/authorize.ts'
import type { Addressed, Forwarding, Matched, Received, Stage, Writable } from '../../stages/state.ts'
import { NOBODY } from './identity-headers.ts'
import { createGatewayProof } from './prove-gateway.ts'
import { readAsked } from './read-asked.ts'

export function recognizeGateway(routers: Pick<Routers, 'find'>): Stage<Received & Matched, Forwarding> {
  return (ctx, next) => {
    const { match, headers, revision, requestId } = ctx.state
    // The path of a malformed request can still be read, but for one that Node's parser refused.
    const asked = match.kind === 'malformed' ? routers.find('GET', readTarget(ctx.req.url ?? '')).match : match
    const own = gatewaysMatch(asked)
    if (!own) return next()
    // On every answer, whatever it will be.
    Object.assign(headers, NOBODY, {
      'X-Sallyport-Revision': revision,
      'X-Sallyport-Request': requestId,
      'X-Sallyport-Problem': '',
      'Cache-Control': 'no-store',
    })
    ctx.state.forwarded = { profile: own.profile, route: own.match.route.path }
    return next()
  }
}

export function readForwarded(
  gate: Gate & { readonly resources: Resources },
  verifier: TokenVerifier,
): Stage<Received & Matched & Addressed & Forwarding> {
  const prove = createGatewayProof(gate, verifier)
  const find = createRouteMatcher(forwardedRoutes(gate.resources))
  const read = async (request: IncomingMessage, state: Forwarded, { profile, match }: OwnMatch) => {
    const proof = await prove(request, { ...state, profile, match })
    if ('reason' in proof) {
      // Counts as a bad credential, and the client's own isn't looked at.
      state.credentials = { kind: 'rejected', reason: proof.reason }
      state.match = malformed(new Problem('gateway-refused', GATEWAY_REFUSED))
      return
    }
    const gateway = proof.gateway.id
    const forwarded = { profile, route: match.route.path, gateway }
    const asked = readAsked(request.rawHeaders, profile)
    state.forwarded = asked instanceof Problem ? forwarded : { ...forwarded, method: asked.method }
    state.match = asked instanceof Problem ? malformed(asked) : find(asked.method, asked.target)
  }
  // Other requests wait for no promise here.
  return (ctx, next) => {
    const own = gatewaysMatch(ctx.state.match)
    return own ? read(ctx.req, ctx.state, own).then(next) : next()
  }
}

type Forwarded = Writable<Received & Matched & Addressed & Forwarding>

const GATEWAY_REFUSED = 'The gateway may not ask for its clients; give it a key of a caller who may `forward`.'

/** The gateway's own request. */
interface OwnMatch {
  readonly profile: Gateway
  readonly match: RouteMatch
}

/** Gateways ask with any method; the route's own endpoint is GET. */
function gatewaysMatch(match: Match): OwnMatch | undefined {
  if (match.kind !== 'route' && match.kind !== 'unaccepted-method') return undefined
  const { route } = match
  const { gateway: profile } = route
  const endpoint = route.endpoints.get('GET')
  if (!profile || !endpoint) return undefined
  return { profile, match: { kind: 'route', route, endpoint, target: { path: route.path, query: '' }, id: undefined } }
}

function malformed(problem: Problem): Match {
  return { kind: 'malformed', problem }
}
