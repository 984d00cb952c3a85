/** The response headers that clients can rely on (docs/http.md), each described once. */
import { byText } from '../../base/by-text.ts'
import type { Components, Part } from './components.ts'

interface HeaderText {
  readonly description: string
  readonly schema: Part
}

const TEXT: Part = { type: 'string' }

const HEADERS = {
  Accept: { description: 'The media type that a body must have.', schema: TEXT },
  'Accept-Encoding': {
    description: 'Send bodies without a content coding.',
    schema: { type: 'string', const: 'identity' },
  },
  'Accept-Patch': { description: 'The media types that PATCH accepts (RFC 5789).', schema: TEXT },
  Allow: { description: 'The methods that the path accepts from any caller.', schema: TEXT },
  'Content-Location': { description: 'The path of the representation in the body.', schema: TEXT },
  Deprecation: {
    description: 'The time of the deprecation: `@` and seconds since 1970 (RFC 9745).',
    schema: { type: 'string', pattern: '^@-?[0-9]+$' },
  },
  ETag: {
    description:
      'A strong entity tag of the object and the fields shown (RFC 9110). Send it in If-Match to change the object.',
    schema: { type: 'string', pattern: '^"[!#-~]+"$' },
  },
  'Idempotency-Replayed': {
    description: '`true` if this answer repeats the first answer to this Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
  Link: {
    description: 'RFC 8288: `rel="next"` is the next page, `rel="successor-version"` the path that replaces this one.',
    schema: TEXT,
  },
  Location: { description: 'The path of the new object, or the path to use instead.', schema: TEXT },
  'Policy-Revision': { description: 'The revision of the policy that decided.', schema: TEXT },
  'Policy-Sequence': {
    description: 'The number of the published policy that decided.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  RateLimit: {
    description:
      'The requests left of each limit, and the seconds until more are allowed (draft-ietf-httpapi-ratelimit-headers).',
    schema: TEXT,
  },
  'RateLimit-Policy': {
    description: 'The limits that count this request: `q` requests in a window of `w` seconds.',
    schema: TEXT,
  },
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  Sunset: { description: 'The time from which the path answers 410 (RFC 8594).', schema: TEXT },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750), or how to sign in again (RFC 9470).',
    schema: { type: 'string', pattern: '^Bearer ' },
  },
  'X-Sallyport-Problem': { description: 'The code of the problem; empty without a problem.', schema: TEXT },
  'X-Sallyport-Request': { description: "The id of the request, for the server's logs.", schema: TEXT },
  'X-Sallyport-Revision': { description: 'The revision of the policy that decided.', schema: TEXT },
  'X-Sallyport-Roles': {
    description: "The client's roles, separated by commas, as X-Sallyport-Subject is encoded; empty for a refusal.",
    schema: TEXT,
  },
  'X-Sallyport-Subject': {
    description:
      'Who the client is; empty without credentials, and for a refusal. Other than visible ASCII is percent-encoded, and `%` too.',
    schema: TEXT,
  },
  'X-Request-ID': { description: 'As the request had it.', schema: TEXT },
} as const satisfies Readonly<Record<string, HeaderText>>

export type HeaderName = keyof typeof HEADERS

/** Headers that an answer always has, and those that it may have. */
export interface Headers {
  readonly always: readonly HeaderName[]
  readonly maybe: readonly HeaderName[]
}

/** The value of a response's `headers`. */
export function headersPart(components: Components, { always, maybe }: Headers): Part {
  const named = [...always.map((name) => [name, true] as const), ...maybe.map((name) => [name, false] as const)]
  const entries = named.map(([name, required]) => [name, headerPart(components, name, required)] as const)
  return Object.fromEntries(entries.toSorted(([a], [b]) => byText(a, b)))
}

export function joinHeaders(...several: readonly Headers[]): Headers {
  const always = new Set(several.flatMap((one) => one.always))
  const maybe = new Set(several.flatMap((one) => one.maybe).filter((name) => !always.has(name)))
  return { always: [...always], maybe: [...maybe] }
}

/** A header that is always present and the same header if it may be missing are two components. */
function headerPart(components: Components, name: HeaderName, required: boolean): Part {
  const { description, schema } = HEADERS[name]
  return required
    ? components.add('headers', name, { description, required, schema })
    : components.add('headers', `${name}-Optional`, { description, schema })
}
