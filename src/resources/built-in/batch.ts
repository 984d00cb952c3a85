/** `system/batch`: several requests in one (docs/batches.md). Each is decided by itself, on its own route. */
import type { Resource } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { checkerOf } from '../validate/find-faults.ts'
import { action, askingRoute, builtIn, closedObjectOf, listOf } from './make.ts'

export const BATCHES = 'system/batch'

export const BATCH_PATH = '/batch'

const MOST_PARTS = 100

/** Without a dot, which ends it in a reference. */
const ID: JsonObject = {
  description: 'Names the request within the batch.',
  type: 'string',
  pattern: '^[A-Za-z0-9_-]{1,64}$',
}

const HEADERS: JsonObject = { type: 'object', additionalProperties: { type: 'string' } }

const BODY: JsonObject = { description: 'JSON.' }

const PART: JsonObject = closedObjectOf(
  {
    id: ID,
    method: { type: 'string', enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] },
    path: {
      description: 'With its query. `{r1.id}` is the value `id` of the answer to `r1`, percent-encoded.',
      type: 'string',
      pattern: '^/',
      maxLength: 8192,
    },
  },
  {
    headers: {
      ...HEADERS,
      description: 'Accept, Content-Type, Idempotency-Key, If-Match, If-None-Match.',
      additionalProperties: { type: 'string', pattern: '^[\\t\\x20-\\x7e]*$', maxLength: 4096 },
      maxProperties: 5,
    },
    body: { description: 'JSON. `{"$ref": "r1.id"}` stands for the value `id` of the answer to `r1`.' },
  },
)

const BATCH: JsonObject = {
  title: 'Batch',
  description: 'Requests that are answered one after the other.',
  ...closedObjectOf(
    { requests: listOf(PART, { minItems: 1, maxItems: MOST_PARTS }) },
    { atomic: { description: 'All of them, or none.', type: 'boolean', default: false } },
  ),
}

const ANSWERS: JsonObject = {
  title: 'BatchAnswers',
  description: 'The answers, in the order of the requests.',
  ...closedObjectOf({
    responses: listOf(closedObjectOf({ id: ID, status: { type: 'integer' }, headers: HEADERS }, { body: BODY }), {
      maxItems: MOST_PARTS,
    }),
  }),
}

export const BATCH_RESOURCE: Resource = builtIn(BATCHES, {
  schema: ANSWERS,
  fields: [],
  routes: [
    askingRoute(BATCHES, BATCH_PATH, 'send', {
      summary: 'Send several requests in one',
      takes: BATCH,
      faults: checkerOf(BATCH),
      gives: ANSWERS,
    }),
  ],
  actions: ['send', 'options'].map((name) => action(name, 'whole')),
})
