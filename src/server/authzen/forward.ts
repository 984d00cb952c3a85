/**
 * For requests of gateways: `match` calls `recognizeGateway` before a stage can refuse, so that each refusal has the status
 * and the headers that a gateway understands. After `readForwarded`, the request is the one that the gateway's
 * client sent. Limits count it, the policy decides it and the record shows it as if it had come here itself; only the
 * answer differs.
 */
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import { Refused } from '../../decide/refusal.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import { looksLikeApiKey, type TokenVerifier } from '../../identity/caller.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Gateway, Resources } from '../../resources/resource.ts'
import {
  createRouteMatcher,
  forwardedRoutes,
  type Match,
  type RouteMatch,
} from '../../resources/routing/match-route.ts'
import { readTarget, type Target } from '../../resources/routing/request-target.ts'
import { createClientAddress } from '../http/client-address.ts'
import type { Outcome } from '../routes/handler.ts'
import { verifyCredentials } from '../stages/authenticate.ts'
import { decideRequest, type Gate } from '../stages/authorize.ts'
import type { Accepted, Addressed, Forwarding, Matched, Received, Stage, Writable } from '../stages/state.ts'

/** `asked`: the gateway's route. */
export function recognizeGateway(state: Received & Writable<Forwarding>, asked: Match): void {
  const own = gatewaysMatch(asked)
  if (!own) return
  // On every answer, whatever it will be.
  Object.assign(state.headers, NOBODY, {
    'X-Sallyport-Revision': state.revision,
    'X-Sallyport-Request': state.requestId,
    'X-Sallyport-Problem': '',
    'Cache-Control': 'no-store',
  })
  state.forwarded = { profile: own.profile, route: own.match.route.path }
}

export function readForwarded(
  gate: Gate & { readonly resources: Resources },
  verifier: TokenVerifier,
): Stage<Received & Matched & Addressed & Forwarding> {
  const prove = createGatewayProof(gate, verifier)
  const find = createRouteMatcher(forwardedRoutes(gate.resources))
  const read = async (request: IncomingMessage, state: ForwardedState, { profile, match }: OwnMatch) => {
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
    const own = ctx.state.forwarded && gatewaysMatch(ctx.state.match)
    return own ? read(ctx.req, ctx.state, own).then(next) : next()
  }
}

type ForwardedState = Writable<Received & Matched & Addressed & Forwarding>

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
  const endpoint = profile && route.endpoints.get('GET')
  if (!endpoint) return undefined
  return { profile, match: { kind: 'route', route, endpoint, target: { path: route.path, query: '' }, id: undefined } }
}

function malformed(problem: Problem): Match {
  return { kind: 'malformed', problem }
}

/** Not `Authorization`, which is the credential of the gateway's client. */
const KEY = 'X-Sallyport-Key'

/** `reason`: for the decision record; no part of a key. */
type Proof = { readonly gateway: Caller } | { readonly reason: string }

type ProveGateway = (request: IncomingMessage, own: OwnRequest) => Promise<Proof>

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
function createGatewayProof(gate: Gate, verifier: TokenVerifier): ProveGateway {
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

interface AskedRequest {
  readonly method: string
  readonly target: Target
}

function readAsked(rawHeaders: readonly string[], { headers }: Gateway): AskedRequest | Problem {
  const method = onlyValue(rawHeaders, headers.method)
  const uri = onlyValue(rawHeaders, headers.uri)
  if (method instanceof Problem) return method
  if (uri instanceof Problem) return uri
  // RFC 9110 section 5.6.2: a token.
  if (!/^[\w!#$%&'*+.^`|~-]{1,32}$/.test(method)) {
    return unaccepted(`${headers.method} is not a method; set it to the method of the client's request`)
  }
  const target = readForwardedUri(uri)
  return target instanceof Problem ? target : { method, target }
}

function onlyValue(rawHeaders: readonly string[], name: string): string | Problem {
  const [value, ...others] = headerValues(rawHeaders, name)
  if (value === undefined) return unaccepted(`${name} is missing; let the gateway set it`)
  return others.length > 0 ? unaccepted(`${name} is repeated; let the gateway replace what clients send`) : value
}

function unaccepted(fault: string): Problem {
  return new Problem('invalid-forward', `The header ${fault}.`)
}

/** RFC 3986 section 3.3, without `;`: some servers cut a segment there. */
const PATH = /^(?:[\w.~!$&'()*+,=:@/-]|%[\dA-Fa-f]{2})+$/

/** What decoding must not bring forth: delimiters, a second layer of encoding, and control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const HIDDEN = /[/\\;?#%\0-\x1f\x7f-\x9f]/

/** What NFKC makes of some characters: `‥` becomes `..`, and `℀` becomes `a/c`. ASCII stays as it is. */
const DELIMITER = /[./\\;?#%]/

/**
 * Some servers take these for a slash, a backslash, a dot or a percent sign (best fit; `¥` and `₩` where the code page
 * is Japanese or Korean); the last turn texts around.
 */
const LOOKS_ALIKE =
  /\u20e5|[\u00a5\u066a\u2044\u20a9\u2215\u2216\u29f8\u29f9\ufe52\ufe68\uff05\uff0e\uff0f\uff3c\p{Bidi_Control}]/u

/** Some programs omit these: file systems, case folding, and whatever trims a name. */
const OMITTED = /[\s\p{Default_Ignorable_Code_Point}]/gu

/** The first two say what is refused for the rest of the URI too. */
export function readForwardedUri(uri: string): Target | Problem {
  if (!/^[\x21-\x7e]*$/.test(uri)) return refused('has characters that a URI must percent-encode')
  if (uri.includes('#')) return refused('has a `#`')
  const target = readTarget(uri)
  if (target instanceof Problem) return target
  if (!uri.startsWith('/')) return refused('does not begin with `/`')
  const fault = faultOfPath(target.path)
  return fault === undefined ? target : refused(fault)
}

function faultOfPath(path: string): string | undefined {
  if (path.includes('//')) return 'has an empty segment (`//`)'
  if (!PATH.test(path)) return 'has a character that servers read differently, such as `;` or a backslash'
  const segments = path.split('/').map((segment) => decodeURIComponent(segment))
  if (segments.some((segment) => HIDDEN.test(segment))) return 'has an encoded delimiter, `%25` or a control character'
  if (segments.some(hasLookAlike)) return 'has a character that looks like a delimiter'
  return segments.some(isDots) ? 'has a dot segment' : undefined
}

/** Also a dot segment for programs that omit some characters. */
function isDots(segment: string): boolean {
  return /^\.{1,2}$/.test(segment.normalize('NFKC').replace(OMITTED, ''))
}

/** A program that normalises text (NFKC) after it has split the path would find delimiters there. */
function hasLookAlike(segment: string): boolean {
  const others = segment.replace(/[\0-\x7f]+/g, '').normalize('NFKC')
  return LOOKS_ALIKE.test(others) || DELIMITER.test(others)
}

function refused(fault: string): Problem {
  return new Problem('invalid-path', `The forwarded URI ${fault}; request the plain path.`)
}

/** `rawHeaders` alternates names and values. */
function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  const wanted = name.toLowerCase()
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === wanted)
}

type IdentityHeaders = Readonly<Record<string, string>>

/** Of a refusal, and of a caller without credentials. */
const NOBODY: IdentityHeaders = { 'X-Sallyport-Subject': '', 'X-Sallyport-Roles': '' }

/** The gateway may let its client's request pass. */
export function admit({ policy, accepted }: Received & Accepted): Outcome {
  return { status: 204, headers: identityHeaders(policy.snapshot, accepted.caller), body: undefined }
}

/** The roles are those that the policy declares, inherited ones included. */
function identityHeaders(snapshot: Snapshot, caller: Caller | undefined): IdentityHeaders {
  if (!caller) return NOBODY
  const roles = [...snapshot.subjectOf(caller).roles].sort()
  return {
    'X-Sallyport-Subject': encoded(caller.id),
    'X-Sallyport-Roles': roles.map((role) => encoded(role).replaceAll(',', '%2C')).join(','),
  }
}

/** Visible ASCII stays, but for `%`; all else is percent-encoded as UTF-8, so that `decodeURIComponent` reads it. */
function encoded(text: string): string {
  return text.replace(/[^!-$&-~]/gu, encodeURIComponent)
}
