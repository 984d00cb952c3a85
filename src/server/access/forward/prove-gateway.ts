/** Finds out whether a request comes from a gateway: by an API key, or else by the address of its socket. */
import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../../decide/caller.ts'
import { Refused } from '../../../decide/refusal.ts'
import type { TokenVerifier } from '../../../identity/caller.ts'
import { looksLikeApiKey } from '../../../identity/directory/api-key.ts'
import type { ActivePolicy } from '../../../policy/active-policy.ts'
import type { Gateway } from '../../../resources/resource.ts'
import type { RouteMatch } from '../../../resources/routing/match-route.ts'
import { createClientAddress } from '../../http/client-address.ts'
import { verifyCredentials } from '../../stages/authenticate.ts'
import { decideRequest, type Gate } from '../../stages/authorize.ts'
import { headerValues } from './header-values.ts'

/** Not `Authorization`, which is the credential of the gateway's client. */
const KEY = 'X-Sallyport-Key'

/** `reason`: for the decision record; no part of a key. */
type Proof = { readonly gateway: Caller } | { readonly reason: string }

export type ProveGateway = (request: IncomingMessage, own: OwnRequest) => Promise<Proof>

interface OwnRequest {
  readonly profile: Gateway
  /** The gateway's own request. */
  readonly match: RouteMatch
  readonly policy: ActivePolicy
  /** In milliseconds since the epoch. */
  readonly at: number
}

/** Proxies don't count: whoever opened the connection must be the gateway. */
const peerOf = createClientAddress([])

/** Throws what the store throws. */
export function createGatewayProof(gate: Gate, verifier: TokenVerifier): ProveGateway {
  return async (request, { profile, match, policy, at }) => {
    const address = peerOf(request).whole
    const proof = await identify(verifier, headerValues(request.rawHeaders, KEY), () => gatewayAt(policy, address))
    if ('reason' in proof) return proof
    const { gateway: caller } = proof
    if (!mayUse(policy, caller, profile)) return { reason: `callers.yaml does not give ${caller.id} this profile` }
    try {
      await decideRequest(gate, policy, { match, caller, at, address })
      return proof
    } catch (error) {
      if (error instanceof Refused) return { reason: `the policy does not let ${caller.id} forward requests` }
      throw error
    }
  }
}

/** A key that doesn't fit is never replaced by the address: the gateway may have passed on what its client sent. */
async function identify(
  verifier: TokenVerifier,
  [key, ...more]: readonly string[],
  byAddress: () => Caller | undefined,
): Promise<Proof> {
  if (more.length > 0) return { reason: 'several X-Sallyport-Key headers' }
  if (key === undefined) {
    const gateway = byAddress()
    return gateway ? { gateway } : { reason: 'no X-Sallyport-Key, and no gateway at this address' }
  }
  if (!looksLikeApiKey(key)) return { reason: 'X-Sallyport-Key is not an API key' }
  const found = await verifyCredentials(verifier, { kind: 'bearer', token: key })
  switch (found.kind) {
    case 'caller':
      return { gateway: found.caller }
    case 'failed':
      throw found.cause
    default:
      return { reason: `X-Sallyport-Key: ${found.kind === 'rejected' ? found.reason : 'not verified'}` }
  }
}

/** The entry is named after the role that the gateway then has; policy.csv must still grant it `forward`. */
function gatewayAt({ snapshot }: ActivePolicy, address: string | undefined): Caller | undefined {
  const entry = address === undefined ? undefined : snapshot.gatewayAt(address)
  return entry && { id: `gateway:${entry.name}`, roles: [entry.name], claims: {}, credential: `address ${address}` }
}

function mayUse({ snapshot }: ActivePolicy, caller: Caller, { name }: Gateway): boolean {
  return snapshot.trustOf(snapshot.subjectOf(caller)).profiles?.has(name) ?? true
}
