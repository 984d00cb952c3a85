/** How far a request came before it ended with a problem: whether the policy had been asked by then. */
import type { ProblemCode } from './catalogue.ts'

/**
 * `before`: the policy was not asked. `policy`: the policy itself gave the answer. `after`: the policy had allowed it.
 */
type Stage = 'before' | 'policy' | 'after' | 'fault'

const STAGES: Readonly<Record<ProblemCode, Stage>> = {
  'malformed-request': 'before',
  'invalid-path': 'before',
  'invalid-forward': 'before',
  'gateway-refused': 'before',
  'route-not-found': 'before',
  'method-not-allowed': 'before',
  'token-invalid': 'before',
  'token-expired': 'before',
  'key-server-invalid': 'before',
  'key-server-unavailable': 'before',
  'request-timeout': 'before',
  'url-too-long': 'before',
  'headers-too-large': 'before',
  'expectation-failed': 'before',
  'quota-exceeded': 'before',
  'invalid-policy-sequence': 'before',
  'policy-behind': 'before',
  'policy-expired': 'before',
  draining: 'before',
  gone: 'before',
  'credentials-missing': 'policy',
  'step-up-required': 'policy',
  forbidden: 'policy',
  blocked: 'policy',
  'field-forbidden': 'policy',
  'object-not-found': 'policy',
  'sign-in-refused': 'after',
  'sign-in-delayed': 'after',
  'sign-in-elsewhere': 'after',
  'session-not-found': 'after',
  'invalid-query': 'after',
  'invalid-json': 'after',
  'invalid-body': 'after',
  'invalid-patch': 'after',
  'patch-conflict': 'after',
  'patch-test-failed': 'after',
  'content-range': 'after',
  'body-too-large': 'after',
  'object-too-large': 'after',
  'unsupported-media-type': 'after',
  'invalid-precondition': 'after',
  'invalid-idempotency-key': 'after',
  'idempotency-in-flight': 'after',
  'filter-unsayable': 'after',
  'idempotency-key-reused': 'after',
  'not-acceptable': 'after',
  'precondition-failed': 'after',
  'precondition-required': 'after',
  'unique-taken': 'after',
  'write-conflict': 'after',
  'decision-log-unavailable': 'fault',
  'internal-error': 'fault',
  'store-unavailable': 'fault',
  'not-ready': 'fault',
  'answers-unread': 'fault',
  'read-too-long': 'fault',
  'sign-in-busy': 'fault',
}

/** Undefined for a code that this version doesn't know. */
export function stageOf(problem: string): Stage | undefined {
  return Object.hasOwn(STAGES, problem) ? STAGES[problem as ProblemCode] : undefined
}
