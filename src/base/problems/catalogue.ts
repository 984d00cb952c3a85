/**
 * Every public error: its stable code, HTTP status and title (RFC 9457). This is the only source of an error's status.
 * docs/problems.md is the page for people; a test checks that both agree.
 */

/**
 * How far a request came before it ended with the problem. `before`: the policy was not asked. `policy`: the policy
 * itself gave the answer. `after`: the policy had allowed it.
 */
type ProblemStage = 'before' | 'policy' | 'after' | 'fault'

export const CATALOGUE = {
  'malformed-request': { status: 400, title: 'The request is not well-formed HTTP', stage: 'before' },
  'invalid-path': { status: 400, title: 'The path is not well-formed', stage: 'before' },
  'invalid-query': { status: 400, title: 'A query parameter is not accepted', stage: 'after' },
  'invalid-json': { status: 400, title: 'The body is not well-formed JSON', stage: 'after' },
  'invalid-body': { status: 400, title: 'The body does not fit the schema', stage: 'after' },
  'invalid-patch': { status: 400, title: 'The patch is not a JSON Patch of this resource', stage: 'after' },
  'invalid-precondition': { status: 400, title: 'A precondition is not well-formed', stage: 'after' },
  'invalid-idempotency-key': { status: 400, title: 'The idempotency key is not accepted', stage: 'after' },
  'invalid-policy-sequence': { status: 400, title: 'The policy sequence is not accepted', stage: 'before' },
  'invalid-forward': { status: 400, title: 'The headers of the forwarded request are not accepted', stage: 'before' },
  'content-range': { status: 400, title: 'A partial PUT is not accepted', stage: 'after' },
  'credentials-missing': { status: 401, title: 'Credentials are required', stage: 'policy' },
  'token-invalid': { status: 401, title: 'The token is not valid', stage: 'before' },
  'token-expired': { status: 401, title: 'The token has expired', stage: 'before' },
  'step-up-required': { status: 401, title: 'A fresher or stronger sign-in is required', stage: 'policy' },
  'sign-in-refused': { status: 401, title: 'Signing in is refused', stage: 'after' },
  forbidden: { status: 403, title: 'Not permitted', stage: 'policy' },
  blocked: { status: 403, title: 'This caller is blocked', stage: 'policy' },
  'gateway-refused': { status: 403, title: 'The gateway may not ask', stage: 'before' },
  'field-forbidden': { status: 403, title: 'This caller may not use a field', stage: 'policy' },
  'roles-apart': { status: 403, title: 'These roles must stay apart', stage: 'after' },
  'too-many-with-role': { status: 403, title: 'Too many people would have the role', stage: 'after' },
  'route-not-found': { status: 404, title: 'No such path', stage: 'before' },
  'object-not-found': { status: 404, title: 'No such object', stage: 'policy' },
  'version-not-found': { status: 404, title: 'No version of this time is kept', stage: 'after' },
  'session-not-found': { status: 404, title: 'There is no session to end', stage: 'after' },
  'sign-in-elsewhere': { status: 404, title: 'This server does not sign users in', stage: 'after' },
  'method-not-allowed': { status: 405, title: 'The method is not accepted here', stage: 'before' },
  'not-acceptable': { status: 406, title: 'The answer has no media type that the client accepts', stage: 'after' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive', stage: 'before' },
  'unique-taken': { status: 409, title: 'A unique value is already taken', stage: 'after' },
  'reference-missing': { status: 409, title: 'A field names an object that there is not', stage: 'after' },
  referenced: { status: 409, title: 'Other objects refer to this one', stage: 'after' },
  'command-state': { status: 409, title: 'The object is in another state', stage: 'after' },
  'write-conflict': { status: 409, title: 'The object kept changing', stage: 'after' },
  'patch-test-failed': { status: 409, title: 'A test of the patch does not hold', stage: 'after' },
  'patch-conflict': { status: 409, title: 'The patch does not apply to the object', stage: 'after' },
  'idempotency-in-flight': { status: 409, title: 'A request with the same key is still running', stage: 'after' },
  gone: { status: 410, title: 'This path no longer exists', stage: 'before' },
  'precondition-failed': { status: 412, title: 'The precondition does not hold', stage: 'after' },
  'body-too-large': { status: 413, title: 'The body is too large', stage: 'after' },
  'object-too-large': { status: 413, title: 'The object would be too large', stage: 'after' },
  'url-too-long': { status: 414, title: 'The URL is too long', stage: 'before' },
  'unsupported-media-type': { status: 415, title: 'The media type is not supported', stage: 'after' },
  'expectation-failed': { status: 417, title: 'The expectation cannot be met', stage: 'before' },
  'filter-unsayable': { status: 422, title: "The filter can't be said in this form", stage: 'after' },
  'question-refused': { status: 422, title: "The question about the policy can't be answered", stage: 'after' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key was used with another payload', stage: 'after' },
  'failed-dependency': { status: 424, title: 'Another request of the batch failed', stage: 'before' },
  'precondition-required': { status: 428, title: 'A precondition is required', stage: 'after' },
  'quota-exceeded': {
    status: 429,
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    stage: 'before',
  },
  'sign-in-delayed': { status: 429, title: 'Too many sign-ins have failed', stage: 'after' },
  'headers-too-large': { status: 431, title: 'The headers are too large', stage: 'before' },
  'internal-error': { status: 500, title: 'Internal error', stage: 'fault' },
  'key-server-invalid': { status: 502, title: 'The key server gave an unusable answer', stage: 'before' },
  'store-unavailable': { status: 503, title: 'The store is not available', stage: 'fault' },
  'read-too-long': { status: 503, title: 'Reading would take too long', stage: 'fault' },
  'policy-behind': { status: 503, title: 'This instance does not have that policy yet', stage: 'before' },
  'policy-expired': { status: 503, title: 'The policy may be out of date', stage: 'before' },
  'decision-log-unavailable': { status: 503, title: 'The decision log is not available', stage: 'fault' },
  'key-server-unavailable': { status: 503, title: 'The key server is not available', stage: 'before' },
  'answers-unread': { status: 503, title: 'Too many answers wait to be read', stage: 'fault' },
  'sign-in-busy': { status: 503, title: 'Too many users are signing in', stage: 'fault' },
  'batch-ended': { status: 503, title: 'The batch ended before this request', stage: 'before' },
  'not-ready': { status: 503, title: 'The server is not ready', stage: 'fault' },
  draining: { status: 503, title: 'The server is shutting down', stage: 'before' },
} as const satisfies Readonly<Record<string, { status: number; title: string; stage: ProblemStage }>>

export type ProblemCode = keyof typeof CATALOGUE

/** RFC 9457 section 3.1.1; 429 uses the type registered by draft-ietf-httpapi-ratelimit-headers. */
export function problemType(code: ProblemCode): string {
  return code === 'quota-exceeded'
    ? 'https://iana.org/assignments/http-problem-types#quota-exceeded'
    : `urn:sallyport:problem:${code}`
}

/** Undefined for a code that this version doesn't know. */
export function stageOf(problem: string): ProblemStage | undefined {
  return Object.hasOwn(CATALOGUE, problem) ? CATALOGUE[problem as ProblemCode].stage : undefined
}
