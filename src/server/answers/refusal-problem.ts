/** The problem that a client gets for a refusal. */
import { pointerOfPath } from '../../base/json-pointer.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import { problemCodeOf, type Refused } from '../../decide/refusal.ts'

export function refusalProblem(refused: Refused, caller: Caller | undefined): Problem {
  const { refusal } = refused
  const { check, limitBytes } = refusal
  const code = problemCodeOf(refusal, caller ? 'caller' : 'anonymous')
  const options = { cause: refused }
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
