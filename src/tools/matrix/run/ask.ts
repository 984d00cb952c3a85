/** Sends the request of a trial, with the current tag of the object if the route requires a precondition. */
import type { Method, Resource, Route } from '../../../resources/resource.ts'
import type { HttpAnswer, HttpRequest } from '../target/http.ts'
import type { TestTarget } from '../target/test-target.ts'

interface Asked {
  readonly route: Route
  readonly resource: Resource
  readonly method: Method
  /** The id in the path, percent-encoded; undefined for the caller's own record. */
  readonly id: string | undefined
  /** Sent without `If-Match`, whatever the route requires. */
  readonly unconditional?: boolean
  /** An answer with this status is final: the request isn't sent again. */
  readonly wanted: number
}

/** What was sent, and its answer. Throws NoAnswer. */
export async function askOn(
  target: TestTarget,
  asked: Asked,
  plain: HttpRequest,
): Promise<{ readonly request: HttpRequest; readonly answer: HttpAnswer }> {
  const request = asked.unconditional ? plain : { ...plain, headers: await ifMatchOf(target, asked, plain) }
  const answer = await target.ask(request, asked.wanted)
  await target.note(asked.resource.name, answer, request.token)
  return { request, answer }
}

/** Methods that a precondition guards. */
const GUARDED: readonly Method[] = ['PUT', 'PATCH', 'DELETE', 'POST']

/**
 * The current tag, which this caller reads; `*` if the caller may not read the object. Empty if the route requires no
 * precondition.
 */
async function ifMatchOf(
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
