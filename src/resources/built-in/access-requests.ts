/** `system/access-requests`: a caller asks for a role for a time, and sees how its requests stand (docs/approvals.md). */
import type { Resource } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { checkerOf } from '../validate/find-faults.ts'
import { action, builtIn, closedObjectOf, listOf, objectOf, route, TEXT } from './make.ts'

const NAME = 'system/access-requests'

export const ACCESS_REQUESTS_PATH = '/access-requests'

const NEW_REQUEST: JsonObject = {
  title: 'NewAccessRequest',
  description: 'A role for a time, which others approve.',
  ...closedObjectOf({
    role: { description: 'A role that may be asked for.', type: 'string', minLength: 1, maxLength: 128 },
    for: {
      description: 'How long, from now on: a whole number and a unit, as in 30m or 4h.',
      type: 'string',
      pattern: '^[1-9][0-9]{0,5}[smhd]$',
    },
    reason: {
      description: 'Why, for those who approve.',
      type: 'string',
      pattern: '\\S',
      minLength: 1,
      maxLength: 1000,
    },
  }),
}

const REQUEST: JsonObject = {
  title: 'AccessRequest',
  description: 'A request of this caller, and how it stands.',
  ...objectOf({
    number: { type: 'integer', minimum: 1 },
    role: TEXT,
    reason: TEXT,
    until: { description: 'From then on the role counts for nothing.', type: 'string', format: 'date-time' },
    state: { type: 'string', enum: ['waiting', 'in force', 'ended', 'revoked', 'refused'] },
    missing: { description: 'How many people must still approve.', type: 'integer', minimum: 0 },
  }),
}

export const ACCESS_REQUESTS: Resource = builtIn(NAME, {
  schema: {
    title: 'AccessRequests',
    description: 'The requests of this caller: those that have not ended, or ended within a day.',
    ...closedObjectOf({ requests: listOf(REQUEST) }),
  },
  fields: [],
  routes: [
    Object.freeze({
      ...route(NAME, ACCESS_REQUESTS_PATH, 'collection', [
        ['GET', 'read'],
        ['POST', 'create'],
      ]),
      exchange: {
        summary: 'Ask for a role for a time',
        takes: NEW_REQUEST,
        faults: checkerOf(NEW_REQUEST),
        gives: REQUEST,
      },
    }),
  ],
  actions: ['create', 'read', 'options'].map((name) => action(name, 'whole')),
})
