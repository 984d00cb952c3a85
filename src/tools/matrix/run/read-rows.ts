/** The rows of a list, from all its pages. */
import type { Representation } from '../../../resources/resource.ts'
import type { HttpAnswer, HttpRequest } from '../target/http.ts'
import type { TestTarget } from '../target/test-target.ts'

/** How many pages of a list are read at most. No test makes a longer list. */
const MOST_PAGES = 500

/** `first`: the answer to the request. Throws NoAnswer. */
export async function readAllRows(
  target: TestTarget,
  request: HttpRequest,
  first: HttpAnswer,
): Promise<readonly Representation[]> {
  const rows: Representation[] = []
  const next = `${request.url}${request.url.includes('?') ? '&' : '?'}cursor=`
  let answer = first
  for (let page = 1; ; page++) {
    const { items = [], next: cursor = null } = (answer.json ?? {}) as {
      items?: readonly Representation[]
      next?: string | null
    }
    rows.push(...items)
    if (cursor === null || page === MOST_PAGES) return rows
    answer = await target.ask({ ...request, url: next + encodeURIComponent(cursor) })
  }
}
