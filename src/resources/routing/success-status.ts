/** The status of a successful answer, by the operation of the request. */
import type { Method, Operation, Route } from '../resource.ts'

/** `shown`: the caller may read some field of the written object. */
export function successStatus(operation: Operation, shown = true): 200 | 201 | 204 {
  switch (operation) {
    case 'create':
      return 201
    case 'delete':
    case 'options':
      return 204
    case 'replace':
    case 'update':
      return shown ? 200 : 204
    case 'list':
    case 'read':
    case 'watch':
      return 200
  }
}

/** 308 and 307 keep the method and the body (RFC 9110 sections 15.4.8 and 15.4.9). */
export function redirectStatus({ permanent }: NonNullable<Route['redirect']>, method: Method): 301 | 302 | 307 | 308 {
  const safe = method === 'GET' || method === 'HEAD'
  if (permanent) return safe ? 301 : 308
  return safe ? 302 : 307
}
