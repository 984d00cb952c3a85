/** A gateway's question about its client's request, as an operation: its status and headers are the answer. */
import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import type { RouteMethod } from '../../decide/callers-and-routes.ts'
import type { Gateway } from '../../resources/resource.ts'
import { statusForGateway } from '../answers/to-problem.ts'
import { type Headers, headersPart, joinHeaders } from './headers.ts'
import type { Describing } from './parameters.ts'
import { type Part, pascal } from './part.ts'
import { problemResponses } from './problem-responses.ts'

const IDENTITY: Headers['always'] = [
  'X-Sallyport-Problem',
  'X-Sallyport-Request',
  'X-Sallyport-Revision',
  'X-Sallyport-Roles',
  'X-Sallyport-Subject',
]

/** Beyond those of every operation; the application's own routes have the rest. */
const FORWARDING: readonly ProblemCode[] = [
  'invalid-forward',
  'gateway-refused',
  'invalid-path',
  'route-not-found',
  'method-not-allowed',
  'gone',
]

/** What the client's request can bring, also under a status that the gateway knows in place of its own. */
const REFUSED: Headers = { always: [], maybe: [...IDENTITY, 'Allow', 'Retry-After'] }

/** Whatever limit there is may count the client's request. */
const LIMITED: Headers = { always: [], maybe: ['RateLimit', 'RateLimit-Policy'] }

/** `codes` and `headers`: of every operation. */
export function gatewayOperation(
  { method, resource }: RouteMethod,
  gateway: Gateway,
  { access, components }: Describing,
  { codes, headers }: { readonly codes: readonly ProblemCode[]; readonly headers: Headers },
): Part {
  const limited = access.snapshot.limits.limits.length > 0
  const every = limited ? joinHeaders(headers, LIMITED) : headers
  const passed = joinHeaders(every, { always: IDENTITY, maybe: [] })
  return {
    summary: `Ask for a client of ${gateway.name}${method === 'HEAD' ? ', headers only' : ''}`,
    description:
      "Decides the gateway's client's request at the role level. Every other method of the gateway's own request has the same answers.",
    tags: [resource.name],
    // Of the client; the gateway's own is X-Sallyport-Key.
    security: [{}, { bearer: [] }],
    parameters: parametersOf(gateway),
    responses: {
      204: { description: 'The gateway may let the request pass.', headers: headersPart(components, passed) },
      ...problemResponses(components, {
        codes: [...new Set([...codes, ...FORWARDING])],
        operation: pascal(gateway.name),
        patches: false,
        headers: joinHeaders(every, REFUSED),
        statusOf: (code) => statusForGateway(gateway, CATALOGUE[code].status),
      }),
    },
  }
}

function parametersOf({ headers }: Gateway): readonly Part[] {
  const header = (name: string, required: boolean, description: string): Part => ({
    name,
    in: 'header',
    description,
    required,
    schema: { type: 'string' },
  })
  return [
    header(headers.method, true, "The method of the client's request."),
    header(headers.uri, true, "The path and query of the client's request, as it was sent."),
    header('X-Sallyport-Key', false, "The gateway's API key. Without it, the address of its socket must prove it."),
  ]
}
