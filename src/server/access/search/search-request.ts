/** A search as a request names it (AuthZEN 1.0, section 8): checked, with the page that it asks for. */
import { SEARCH_FAULTS } from '../../../resources/built-in/search-schemas.ts'
import {
  type ActionEntity,
  type ContextMembers,
  type Members,
  type ResourceEntity,
  refuseFaultyMembers,
  type SubjectEntity,
} from '../entities.ts'

/** What is searched for: it has a type, and an id that doesn't count. */
interface Searched {
  readonly type: string
}

export interface AskedPage {
  /** Empty and absent: the first page. */
  readonly token?: string
  readonly limit?: number
}

interface Rest {
  readonly context?: ContextMembers
  readonly page?: AskedPage
}

export interface SubjectSearch extends Rest {
  readonly subject: Searched
  readonly action: ActionEntity
  readonly resource: ResourceEntity
}

export interface ResourceSearch extends Rest {
  readonly subject: SubjectEntity
  readonly action: ActionEntity
  readonly resource: Searched
}

export interface ActionSearch extends Rest {
  readonly subject: SubjectEntity
  readonly resource: ResourceEntity
}

export type Search =
  | ({ readonly for: 'subject' } & SubjectSearch)
  | ({ readonly for: 'resource' } & ResourceSearch)
  | ({ readonly for: 'action' } & ActionSearch)

/** Throws Problem invalid-body. */
export function readSearch(kind: Search['for'], body: Members): Search {
  refuseFaultyMembers(SEARCH_FAULTS[kind](body))
  return { ...(body as unknown as Search), for: kind } as Search
}
