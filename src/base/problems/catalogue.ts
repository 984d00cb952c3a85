/**
 * Every public error: its stable code, HTTP status and title (RFC 9457). This is the only source of an error's status.
 * docs/problems.md is the page for people; a test checks that both agree.
 */

export const CATALOGUE = {
  'malformed-request': { status: 400, title: 'The request is not well-formed HTTP' },
  'invalid-path': { status: 400, title: 'The path is not well-formed' },
  'invalid-query': { status: 400, title: 'A query parameter is not accepted' },
  'invalid-json': { status: 400, title: 'The body is not well-formed JSON' },
  'invalid-body': { status: 400, title: 'The body does not fit the schema' },
  'invalid-patch': { status: 400, title: 'The patch is not a JSON Patch of this resource' },
  'invalid-precondition': { status: 400, title: 'A precondition is not well-formed' },
  'invalid-idempotency-key': { status: 400, title: 'The idempotency key is not accepted' },
  'invalid-policy-sequence': { status: 400, title: 'The policy sequence is not accepted' },
  'invalid-forward': { status: 400, title: 'The headers of the forwarded request are not accepted' },
  'content-range': { status: 400, title: 'A partial PUT is not accepted' },
  'credentials-missing': { status: 401, title: 'Credentials are required' },
  'token-invalid': { status: 401, title: 'The token is not valid' },
  'token-expired': { status: 401, title: 'The token has expired' },
  'step-up-required': { status: 401, title: 'A fresher or stronger sign-in is required' },
  'sign-in-refused': { status: 401, title: 'Signing in is refused' },
  forbidden: { status: 403, title: 'Not permitted' },
  blocked: { status: 403, title: 'This caller is blocked' },
  'gateway-refused': { status: 403, title: 'The gateway may not ask' },
  'field-forbidden': { status: 403, title: 'This caller may not use a field' },
  'route-not-found': { status: 404, title: 'No such path' },
  'object-not-found': { status: 404, title: 'No such object' },
  'session-not-found': { status: 404, title: 'There is no session to end' },
  'sign-in-elsewhere': { status: 404, title: 'This server does not sign users in' },
  'method-not-allowed': { status: 405, title: 'The method is not accepted here' },
  'not-acceptable': { status: 406, title: 'The answer has no media type that the client accepts' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive' },
  'unique-taken': { status: 409, title: 'A unique value is already taken' },
  'write-conflict': { status: 409, title: 'The object kept changing' },
  'patch-test-failed': { status: 409, title: 'A test of the patch does not hold' },
  'patch-conflict': { status: 409, title: 'The patch does not apply to the object' },
  'idempotency-in-flight': { status: 409, title: 'A request with the same key is still running' },
  gone: { status: 410, title: 'This path no longer exists' },
  'precondition-failed': { status: 412, title: 'The precondition does not hold' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'object-too-large': { status: 413, title: 'The object would be too large' },
  'url-too-long': { status: 414, title: 'The URL is too long' },
  'unsupported-media-type': { status: 415, title: 'The media type is not supported' },
  'expectation-failed': { status: 417, title: 'The expectation cannot be met' },
  'filter-unsayable': { status: 422, title: "The filter can't be said in this form" },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key was used with another payload' },
  'precondition-required': { status: 428, title: 'A precondition is required' },
  'quota-exceeded': { status: 429, title: 'Request cannot be satisfied as assigned quota has been exceeded' },
  'sign-in-delayed': { status: 429, title: 'Too many sign-ins have failed' },
  'headers-too-large': { status: 431, title: 'The headers are too large' },
  'internal-error': { status: 500, title: 'Internal error' },
  'key-server-invalid': { status: 502, title: 'The key server gave an unusable answer' },
  'store-unavailable': { status: 503, title: 'The store is not available' },
  'read-too-long': { status: 503, title: 'Reading would take too long' },
  'policy-behind': { status: 503, title: 'This instance does not have that policy yet' },
  'policy-expired': { status: 503, title: 'The policy may be out of date' },
  'decision-log-unavailable': { status: 503, title: 'The decision log is not available' },
  'key-server-unavailable': { status: 503, title: 'The key server is not available' },
  'answers-unread': { status: 503, title: 'Too many answers wait to be read' },
  'sign-in-busy': { status: 503, title: 'Too many users are signing in' },
  'not-ready': { status: 503, title: 'The server is not ready' },
  draining: { status: 503, title: 'The server is shutting down' },
} as const satisfies Readonly<Record<string, { status: number; title: string }>>

export type ProblemCode = keyof typeof CATALOGUE

/** RFC 9457 section 3.1.1; 429 uses the type registered by draft-ietf-httpapi-ratelimit-headers. */
export function problemType(code: ProblemCode): string {
  return code === 'quota-exceeded'
    ? 'https://iana.org/assignments/http-problem-types#quota-exceeded'
    : `urn:sallyport:problem:${code}`
}
