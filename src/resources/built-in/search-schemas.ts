/** The three searches of AuthZEN 1.0: their paths, and the bodies that they take and give as JSON Schemas. */
import type { RouteExchange } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { checkerOf } from '../validate/find-faults.ts'
import { ACTION_SCHEMA, CONTEXT_SCHEMA, NAME, RESOURCE_SCHEMA, REVISION, SUBJECT_SCHEMA } from './access-schemas.ts'
import { closedObjectOf, listOf, objectOf, TEXT } from './make.ts'

/** In characters. */
const LONGEST_TOKEN = 4096

const PAGE: JsonObject = {
  title: 'AccessPageRequest',
  description: 'Which page of the results: the first one, or the one of a `next_token`.',
  ...objectOf(
    {},
    {
      token: { description: 'The `next_token` of the page before.', type: 'string', maxLength: LONGEST_TOKEN },
      limit: { description: 'The most results of a page.', type: 'integer', minimum: 0 },
    },
  ),
}

/** An id is ignored, whatever it is. */
const SEARCHED: JsonObject = {
  title: 'AccessSearched',
  description: 'What is searched for: entities of this type.',
  ...objectOf({ type: NAME }),
}

function takes(title: string, description: string, members: JsonObject): JsonObject {
  return { title, description, ...objectOf(members, { context: CONTEXT_SCHEMA, page: PAGE }) }
}

const NEXT_TOKEN: JsonObject = { description: 'For the next page; empty where no result is left.', type: 'string' }

function gives(title: string, result: JsonObject): JsonObject {
  const description = 'A page of results. It may have fewer than its limit, although more follow.'
  const page = objectOf({ next_token: NEXT_TOKEN })
  const context = objectOf({ revision: REVISION })
  return { title, description, ...closedObjectOf({ page, context, results: listOf(closedObjectOf(result)) }) }
}

const ENTITIES = gives('AccessFoundEntities', { type: TEXT, id: TEXT })

const SUBJECT_SEARCH_SCHEMA = takes('AccessSubjectSearch', 'Who may do this action on this object?', {
  subject: SEARCHED,
  action: ACTION_SCHEMA,
  resource: RESOURCE_SCHEMA,
})

const RESOURCE_SEARCH_SCHEMA = takes('AccessResourceSearch', 'On which objects may this subject do this?', {
  subject: SUBJECT_SCHEMA,
  action: ACTION_SCHEMA,
  resource: SEARCHED,
})

const ACTION_SEARCH_SCHEMA = takes('AccessActionSearch', 'What may this subject do on this object?', {
  subject: SUBJECT_SCHEMA,
  resource: RESOURCE_SCHEMA,
})

/** By what is searched for. */
export const SEARCH_FAULTS = {
  subject: checkerOf(SUBJECT_SEARCH_SCHEMA),
  resource: checkerOf(RESOURCE_SEARCH_SCHEMA),
  action: checkerOf(ACTION_SEARCH_SCHEMA),
}

export const SEARCHES: readonly (RouteExchange & { readonly path: string })[] = [
  {
    path: '/access/v1/search/subject',
    summary: 'Search for subjects that may do something',
    takes: SUBJECT_SEARCH_SCHEMA,
    faults: SEARCH_FAULTS.subject,
    gives: ENTITIES,
  },
  {
    path: '/access/v1/search/resource',
    summary: 'Search for objects on which a subject may do something',
    takes: RESOURCE_SEARCH_SCHEMA,
    faults: SEARCH_FAULTS.resource,
    gives: ENTITIES,
  },
  {
    path: '/access/v1/search/action',
    summary: 'Search for what a subject may do on an object',
    takes: ACTION_SEARCH_SCHEMA,
    faults: SEARCH_FAULTS.action,
    gives: gives('AccessFoundActions', { name: TEXT }),
  },
]
