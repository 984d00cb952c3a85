/** Every error as application/problem+json (RFC 9457). Internal causes go to the log, not to the client. */

import { pointerOfPath } from '../../base/json-pointer.ts'
import { CATALOGUE, problemType } from '../../base/problems/catalogue.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import { problemCodeOf, Refused, type StepUp } from '../../decide/refusal.ts'
import { challengeOf } from '../../decide/request-conditions/step-up.ts'
import { RecordRefused } from '../../decision-log/recorder.ts'
import { namesText } from '../../present/quote.ts'
import { count } from '../../present/text.ts'
import {
  ReadTooLong,
  ReplayTaken,
  StaleObject,
  StoreUnavailable,
  TooManyPeople,
  TooManyReads,
  TransactionTooLong,
  UniqueTaken,
} from '../../store/errors.ts'
import { tooManyUnderWay } from '../slices.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** The public problem for any thrown value. The details of a refusal depend on the caller. */
export function problemOf(error: unknown, caller: Caller | undefined): Problem {
  if (error instanceof Problem) return error
  if (error instanceof Refused) return refusalProblem(error, caller)
  if (error instanceof UniqueTaken) {
    const { fields } = error
    const detail = fields.length === 1 ? 'is taken by another object' : 'is taken by another object, with the others'
    const errors = fields.map((field) => ({ pointer: `/${field}`, detail, code: 'unique' }))
    const what = fields.length === 1 ? 'this value' : 'these values together'
    return new Problem('unique-taken', `Another object already has ${what}; send a different one.`, {
      cause: error,
      errors,
    })
  }
  if (error instanceof TooManyPeople) {
    const { role, people } = error
    const errors = [
      {
        pointer: '/roles',
        detail: `gives \`${role}\` to more than ${count(people, 'person', 'people')}`,
        code: 'at-most',
      },
    ]
    const detail = `At most ${count(people, 'person', 'people')} may have the role \`${role}\`; take it from somebody first.`
    return new Problem('too-many-with-role', detail, { cause: error, errors })
  }
  if (error instanceof ReplayTaken) {
    const headers = { 'Retry-After': '1' }
    return new Problem('idempotency-in-flight', 'Another request with this key came first; repeat this one.', {
      headers,
    })
  }
  if (error instanceof StaleObject) {
    const headers = { 'Retry-After': '1' }
    return new Problem('write-conflict', 'The object changed each time it was about to be written; try again.', {
      headers,
    })
  }
  if (error instanceof StoreUnavailable) {
    return new Problem('store-unavailable', 'The store does not answer; try again later.', {
      cause: error,
      headers: { 'Retry-After': '5' },
    })
  }
  if (error instanceof ReadTooLong) {
    const detail = 'Too many objects would have to be looked at; ask for less, or tell the operator of this server.'
    return new Problem('read-too-long', detail, { cause: error, headers: { 'Retry-After': '60' } })
  }
  if (error instanceof TransactionTooLong) {
    return new Problem(
      'batch-ended',
      'The batch took too long, so nothing of it was done; send fewer requests in it.',
      {
        headers: { 'Retry-After': '1' },
      },
    )
  }
  if (error instanceof TooManyReads) return tooManyUnderWay('long lists and counts')
  if (error instanceof RecordRefused) {
    return new Problem(
      'decision-log-unavailable',
      "The decision log can't be written, and no request is answered without its record; try again later.",
      {
        cause: error,
        headers: { 'Retry-After': '5' },
      },
    )
  }
  return new Problem('internal-error', 'The server failed; give the request id to its operator.', {
    cause: error,
  })
}

/** The caller learns what to do, and nothing of the rules. */
function refusalProblem(refused: Refused, caller: Caller | undefined): Problem {
  const { refusal } = refused
  const { check, limitBytes, stepUp } = refusal
  const code = problemCodeOf(refusal, caller ? 'caller' : 'anonymous')
  const options = { cause: refused }
  if (code === 'step-up-required' && stepUp) return signInAgain(stepUp, refused)
  switch (code) {
    // RFC 6750 section 3: no `error` when no credentials were sent.
    case 'credentials-missing':
      return new Problem(code, 'This request needs credentials; send a bearer token in the header Authorization.', {
        ...options,
        headers: { 'WWW-Authenticate': 'Bearer realm="sallyport"' },
      })
    case 'blocked':
      return new Problem(code, 'This caller is blocked; ask the operator of this server.', options)
    case 'object-not-found':
      return new Problem(code, 'No object has this id; check the id.', options)
    case 'field-forbidden':
      return fieldsForbidden(refused, check === 'read' ? 'read' : 'write')
    case 'invalid-body':
      return new Problem(code, 'The body does not fit the schema; correct the fields in `errors`.', {
        ...options,
        errors: refusal.faults ?? [],
      })
    case 'object-too-large':
      // The excess isn't shown, because the caller may not be able to read the whole object.
      return new Problem(code, `The object would have more than ${limitBytes} bytes as JSON; make it smaller.`, options)
    case 'roles-apart': {
      const roles = namesText(refusal.roles ?? [], ' and ')
      return new Problem(code, `Nobody may have the roles ${roles} together; give at most one of them.`, {
        ...options,
        errors: [{ pointer: '/roles', detail: `gives ${roles}, which must stay apart`, code }],
      })
    }
    default:
      return new Problem(
        code,
        'The policy does not allow this request; ask the operator of this server for access.',
        options,
      )
  }
}

function fieldsForbidden(cause: Refused, action: 'read' | 'write'): Problem {
  const errors = (cause.refusal.evidence?.fieldsRefused ?? []).map((field) => ({
    pointer: pointerOfPath([field]),
    detail: action === 'read' ? 'is not readable for this caller' : 'is not writable for this caller',
    code: 'forbidden',
  }))
  const detail = `The policy does not let this caller ${action} the fields in \`errors\`; omit them.`
  return new Problem('field-forbidden', detail, { cause, errors })
}

/** The problem document; `requestId` is a UUID. */
export function problemDocument(problem: Problem, requestId: string): Readonly<Record<string, unknown>> {
  return {
    type: problemType(problem.code),
    title: CATALOGUE[problem.code].title,
    status: problem.status,
    detail: problem.detail,
    instance: `urn:uuid:${requestId}`,
    code: problem.code,
    ...(problem.errors.length > 0 ? { errors: problem.errors } : {}),
    ...problem.members,
  }
}

function signInAgain(stepUp: StepUp, cause: Refused): Problem {
  return new Problem('step-up-required', `Sign in again: the sign-in must be ${wordsOf(stepUp)}.`, {
    cause,
    headers: { 'WWW-Authenticate': challengeOf(stepUp) },
  })
}

function wordsOf({ acr, maxAge }: StepUp): string {
  return [
    ...(maxAge === undefined ? [] : [`at most ${maxAge} seconds old`]),
    ...(acr === undefined ? [] : [`of the class ${acr.join(' or ')}`]),
  ].join(' and ')
}
