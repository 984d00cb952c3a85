/** Reads from a gateway's request what its client asked for: one pair of headers, and no others. */
import { Problem } from '../../../base/problems/problem.ts'
import type { Gateway } from '../../../resources/resource.ts'
import type { Target } from '../../../resources/routing/request-target.ts'
import { readForwardedUri } from './forwarded-uri.ts'
import { headerValues } from './header-values.ts'

interface AskedRequest {
  readonly method: string
  readonly target: Target
}

export function readAsked(rawHeaders: readonly string[], { headers }: Gateway): AskedRequest | Problem {
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
