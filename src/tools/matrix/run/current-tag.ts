/** The `If-Match` of a request to a route that requires one, as a client who read the object would send it. */
import type { Method, Resource, Route } from '../../../resources/resource.ts'
import type { HttpRequest } from '../target/http.ts'
import type { Stage } from '../target/server-under-test.ts'

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
  stage: Stage,
  { route, resource, method, id }: Asked,
  { url, token }: Pick<HttpRequest, 'url' | 'token'>,
): Promise<Readonly<Record<string, string>>> {
  if (route.precondition !== 'required' || !GUARDED.includes(method)) return {}
  const item = resource.canonicalItemPath
  const path = id === undefined || item === undefined ? undefined : item.replace('{id}', () => id)
  const readable = route.endpoints.has('GET') ? url : path && stage.url + path
  const answer = readable === undefined ? undefined : await stage.ask({ method: 'GET', url: readable, token })
  return { 'if-match': answer?.headers.etag ?? '*' }
}
