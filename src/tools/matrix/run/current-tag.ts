/** The `If-Match` of a request to a route that requires one, as a client who read the object would send it. */
import type { Method, Resource, Route } from '../../../resources/resource.ts'
import type { HttpRequest } from '../target/http.ts'
import type { TestTarget } from '../target/test-target.ts'

/** Methods that a precondition guards. */
const GUARDED: readonly Method[] = ['PUT', 'PATCH', 'DELETE']

interface Asked {
  readonly route: Route
  readonly resource: Resource
  readonly method: Method
  /** The id in the path, percent-encoded; undefined for the caller's own record. */
  readonly id: string | undefined
}

/**
 * The current tag, which this caller reads; `*` where the caller may not read the object. Empty where the route requires no
 * precondition. Throws NoAnswer.
 */
export async function conditionOf(
  target: TestTarget,
  { route, resource, method, id }: Asked,
  { url, token }: Pick<HttpRequest, 'url' | 'token'>,
): Promise<Readonly<Record<string, string>>> {
  if (route.precondition !== 'required' || !GUARDED.includes(method)) return {}
  const item = resource.canonicalItemPath
  const path = id === undefined || item === undefined ? undefined : item.replace('{id}', () => id)
  const readable = route.endpoints.has('GET') ? url : path && target.url + path
  const answer = readable === undefined ? undefined : await target.ask({ method: 'GET', url: readable, token })
  return { 'if-match': answer?.headers.etag ?? '*' }
}
