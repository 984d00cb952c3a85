/** GET and HEAD of a collection: a keyset page of exactly the objects that the caller may list. */
import type { ListDecision } from '../policy/decision.ts'
import { openCursor, sealCursor } from './cursor.ts'
import type { Outcome } from './outcome.ts'
import type { Asking, Services } from './services.ts'

interface Page {
  readonly limit: number
  readonly cursor: string | undefined
}

export async function listObjects(
  { store, cursorKey }: Services,
  { route, caller, path }: Asking,
  decision: ListDecision,
  { limit, cursor }: Page,
): Promise<Outcome> {
  const binding = JSON.stringify([route.path, caller?.id ?? null])
  const after = cursor === undefined ? {} : { after: openCursor(cursorKey, binding, cursor) }
  // One more than asked for tells whether there is a next page.
  const found = await store.list(route.resource, { where: decision.where, limit: limit + 1, ...after })
  const items = found.slice(0, limit)
  const last = items.at(-1)
  const next = found.length > limit && last ? sealCursor(cursorKey, binding, last.id) : null
  return {
    status: 200,
    headers: next === null ? {} : { Link: `<${path}?limit=${limit}&cursor=${next}>; rel="next"` },
    body: { items: items.map((object) => decision.show(object)), next },
  }
}
