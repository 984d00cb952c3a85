/**
 * The pages of a search. A token is sealed like the cursor of a list: it carries the limit and where the next page
 * begins, and fits only the same search of the same service.
 */
import { Problem } from '../../../base/problems/problem.ts'
import type { Limits } from '../../../decide/policy.ts'
import type { Json } from '../../../resources/resource.ts'
import { canonicalJson } from '../../routes/create-object.ts'
import type { Cursors } from '../../routes/cursor.ts'
import type { AskedPage, Search } from './search-request.ts'

export interface SearchPage {
  /** The most results. */
  readonly limit: number
  /** The key of the last candidate that earlier pages have decided. */
  readonly after?: string
}

/** A page as a token carries it. */
interface Sealed extends SearchPage {
  /** The limit that the client named, if it named one. */
  readonly named?: number
}

export interface SearchPages {
  readonly current: SearchPage
  /** The token of the page after this candidate. */
  tokenAfter(key: string | undefined): string
}

interface About {
  readonly cursors: Cursors
  /** The id of the asking service. */
  readonly service: string | undefined
  readonly page: Limits['page']
}

/** Throws Problem invalid-body for a token of another search, and for another limit than that of the first page. */
export function pagesOf({ page: asked = {}, ...search }: Search, { cursors, service, page }: About): SearchPages {
  const binding = canonicalJson(['search', service ?? null, search as unknown as Json])
  const { token = '' } = asked
  const sealed: Sealed = token === '' ? firstPage(asked, page) : opened(cursors, binding, token)
  if (token !== '' && asked.limit !== undefined && asked.limit !== sealed.named) {
    throw faulty('/page/limit', 'must be the limit of the first page, or absent')
  }
  // A page without room would be repeated forever.
  const next = { ...sealed, limit: sealed.limit === 0 ? page.default : sealed.limit }
  return {
    current: sealed,
    tokenAfter: (after) => cursors.seal(binding, JSON.stringify({ ...next, after } satisfies { after: unknown })),
  }
}

function firstPage({ limit }: AskedPage, page: Limits['page']): Sealed {
  return limit === undefined ? { limit: page.default } : { limit: Math.min(limit, page.max), named: limit }
}

function opened(cursors: Cursors, binding: string, token: string): Sealed {
  try {
    return JSON.parse(cursors.open(binding, token))
  } catch {
    throw faulty('/page/token', 'must be the next_token of a page of the same search by the same service')
  }
}

function faulty(pointer: string, detail: string): Problem {
  const errors = [{ pointer, detail, code: 'page' }]
  return new Problem('invalid-body', 'The page does not belong to this search; begin again without a token.', {
    errors,
  })
}
