/** A path that moved for good (301, 308) or is elsewhere for now (302, 307); 308 and 307 keep the method and body. */
import type { Route } from '../../resources/resource.ts'
import type { Outcome } from './outcome.ts'
import type { Asking } from './services.ts'

export function redirect(
  { to, permanent }: NonNullable<Route['redirect']>,
  { method, path, route, query }: Asking,
): Outcome {
  const safe = method === 'GET' || method === 'HEAD'
  const status = permanent ? (safe ? 301 : 308) : safe ? 302 : 307
  // The id goes on as it was sent, percent-encoding and all, so it can't become another path.
  const at = route.path.split('/').indexOf('{id}')
  const location = to.replace('{id}', () => path.split('/')[at] ?? '')
  return { status, headers: { Location: query === '' ? location : `${location}?${query}` }, body: undefined }
}
