/** Problem documents (RFC 9457) as responses: one for each status, with its possible codes. */
import { STATUS_CODES } from 'node:http'
import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import type { Components } from './components.ts'
import { type HeaderName, type Headers, headersPart, joinHeaders } from './headers.ts'
import { type Part, pascal } from './part.ts'

const PROBLEM: Part = {
  description: 'A problem document (RFC 9457). `code` is stable, so programs can rely on it.',
  type: 'object',
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { description: 'A sentence for people; its text may change.', type: 'string' },
    instance: { description: "The request id, which is also in the server's log.", type: 'string', format: 'uri' },
    code: { type: 'string', enum: Object.keys(CATALOGUE) },
    errors: {
      description: 'All faulty fields, named by JSON Pointers (RFC 6901).',
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: { pointer: { type: 'string' }, detail: { type: 'string' }, code: { type: 'string' } },
        required: ['pointer', 'detail', 'code'],
        additionalProperties: false,
      },
    },
    'violated-policies': { description: 'The exceeded limits.', type: 'array', items: { type: 'string' } },
  },
  required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
}

const HEADERS: Readonly<Record<number, Headers>> = {
  401: { always: ['WWW-Authenticate'], maybe: [] },
  409: { always: [], maybe: ['Retry-After'] },
  429: { always: ['Retry-After'], maybe: [] },
  503: { always: ['Retry-After'], maybe: [] },
}

/** Node has the phrases of older RFCs for two of them. */
const PHRASES: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
}

interface ProblemAnswers {
  readonly codes: readonly ProblemCode[]
  /** For example `Update`: separates the operation's answers from answers with other codes of the same status. */
  readonly operation: string
  readonly patches: boolean
  /** Headers of every answer of the route. */
  readonly headers: Headers
  /** The status of the answer, where it isn't the problem's own. */
  readonly statusOf?: (code: ProblemCode) => number
}

/** By status, as `responses` of an operation has them. */
export function problemResponses(components: Components, answers: ProblemAnswers): Part {
  const { codes, headers, operation, patches, statusOf = (code) => CATALOGUE[code].status } = answers
  const byStatus = Map.groupBy(codes, statusOf)
  const entries = [...byStatus].map(([status, those]) => {
    const sorted = those.toSorted()
    const own = headersOf(status, those, patches)
    const name = nameOf(status, sorted, operation)
    return [status, components.add('responses', name, response(components, status, sorted, joinHeaders(own, headers)))]
  })
  return Object.fromEntries(entries)
}

/** RFC 9110 section 15.5.16: a 415 answer names the media types that the server accepts. */
function headersOf(status: number, codes: readonly ProblemCode[], patches: boolean): Headers {
  // This answer may lack the headers of rate limits, so only `Retry-After` is certain.
  if (codes.includes('sign-in-delayed')) return { always: ['Retry-After'], maybe: [] }
  if (status !== 415) return HEADERS[status] ?? { always: [], maybe: [] }
  const media: HeaderName = patches ? 'Accept-Patch' : 'Accept'
  return { always: ['Accept-Encoding', media], maybe: [] }
}

function nameOf(status: number, codes: readonly ProblemCode[], operation: string): string {
  const [only, ...others] = codes
  const phrase = pascal(PHRASES[status] ?? String(status))
  return only && others.length === 0 ? pascal(only) : `${phrase}On${operation}`
}

function response(components: Components, status: number, codes: readonly ProblemCode[], headers: Headers): Part {
  const problem = components.add('schemas', 'Problem', PROBLEM)
  const narrowed = { properties: { status: { const: status }, code: { enum: [...codes] } } }
  return {
    description: codes.map((code) => `\`${code}\`: ${CATALOGUE[code].title}.`).join('\n\n'),
    headers: headersPart(components, headers),
    content: { 'application/problem+json': { schema: { allOf: [problem, narrowed] } } },
  }
}
