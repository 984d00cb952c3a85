/** Jobs with commands: `finish`, `reopen`, `stamp` and `unlock` need the right of their steps, `hold` does not. */
import { readFileSync } from 'node:fs'
import { withRules } from '../policy-text.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const TEXT = { type: 'string', maxLength: 50 }
const SERVERS = { type: 'string', readOnly: true }

const JOBS = {
  title: 'Job',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/jobs', methods: ['GET', 'POST'] },
      { path: '/jobs/{id}', methods: ['GET', 'PATCH', 'DELETE'] },
    ],
  },
  properties: {
    id: SERVERS,
    ownerId: TEXT,
    state: { type: 'string', enum: ['open', 'held', 'done'], default: 'open' },
    note: TEXT,
    by: TEXT,
    at: { type: 'string', format: 'date-time' },
    secret: { ...TEXT, default: 'none' },
    createdAt: { ...SERVERS, format: 'date-time' },
    updatedAt: { ...SERVERS, format: 'date-time' },
  },
  additionalProperties: false,
}

/** Whoever may read the job may read what was noted of it. */
const EVENTS = {
  title: 'Event',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/events', methods: ['GET', 'POST'] },
      { path: '/events/{id}', methods: ['GET'] },
    ],
  },
  properties: {
    id: SERVERS,
    jobId: { ...TEXT, 'x-reference': { resource: 'jobs', onDelete: 'restrict' }, 'x-index': true },
    noterId: TEXT,
    what: { type: 'string', minLength: 3, maxLength: 20 },
    was: TEXT,
    number: { type: 'string', maxLength: 20, 'x-unique': true },
    createdAt: { ...SERVERS, format: 'date-time' },
    updatedAt: { ...SERVERS, format: 'date-time' },
  },
  required: ['jobId', 'what'],
  additionalProperties: false,
}

const INPUT = (properties: Readonly<Record<string, unknown>>, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const command = (action: string, more: Readonly<Record<string, unknown>>) => ({
  [`schemas/commands/${action}.json`]: JSON.stringify({
    resource: 'jobs',
    path: `/jobs/{id}/${action}`,
    action,
    ...more,
  }),
})

export const COMMANDING: Readonly<Record<string, string>> = {
  'schemas/jobs.json': JSON.stringify(JOBS),
  'schemas/events.json': JSON.stringify(EVENTS),
  ...command('finish', {
    title: 'Finish a job',
    input: {
      type: 'object',
      properties: { note: { ...TEXT, minLength: 1 } },
      required: ['note'],
      additionalProperties: false,
    },
    require: { state: ['open', 'held'] },
    set: { state: { value: 'done' }, note: { input: 'note' }, by: { caller: 'id' }, at: { time: 'now' } },
  }),
  ...command('reopen', { precondition: 'required', set: { state: { value: 'open' } } }),
  ...command('stamp', { set: { secret: { value: 'stamped' } } }),
  ...command('unlock', { require: { secret: ['none'] }, set: { note: { value: 'unlocked' } } }),
  ...command('hold', { set: { state: { value: 'held' } }, grants: 'steps' }),
  ...command('hand-over', {
    input: INPUT({ number: TEXT }),
    require: { state: ['open'] },
    set: { state: { value: 'held' } },
    create: [
      {
        resource: 'events',
        set: {
          jobId: { object: 'id' },
          what: { value: 'handed' },
          was: { object: 'note' },
          number: { input: 'number' },
        },
      },
      { resource: 'events', set: { jobId: { object: 'id' }, what: { value: 'over' }, noterId: { caller: 'id' } } },
    ],
  }),
  ...command('log', {
    input: INPUT({ what: TEXT, jobId: TEXT }, ['what']),
    set: { state: { value: 'held' } },
    create: [
      { resource: 'events', set: { jobId: { input: 'jobId' }, what: { input: 'what' }, was: { object: 'note' } } },
    ],
    grants: 'steps',
  }),
  ...command('leak', {
    set: { state: { value: 'held' } },
    create: [
      { resource: 'events', set: { jobId: { object: 'id' }, what: { value: 'leak' }, was: { object: 'secret' } } },
    ],
    grants: 'steps',
  }),
  ...command('sign', {
    set: { state: { value: 'held' } },
    create: [
      { resource: 'events', set: { jobId: { object: 'id' }, what: { value: 'signed' }, noterId: { value: 'desk' } } },
    ],
  }),
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
jobs: { relations: { owner: ownerId } }
events: { relations: { owner: noterId } }
`,
  'policies/views.yaml': `${SHIPPED('views.yaml')}
jobs: { open: [id, ownerId, state, note, by, at, createdAt, updatedAt], state: [state], note: [note] }
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    [
      'p, member, jobs, read|list|update, owner, open, allow',
      'p, member, jobs, finish|stamp|unlock, owner, *, allow',
      'p, support, jobs, read, any, open, allow',
      'p, support, jobs, finish, any, *, allow',
      'p, support, jobs, hold|log|leak, any, state, allow',
      'p, auditor, jobs, read, any, *, allow',
      'p, auditor, jobs, hold, any, note, allow',
      'p, auditor, jobs, log, any, state, allow',
      'p, member, jobs, hand-over|sign, owner, *, allow',
      'p, member, events, create, owner, *, allow',
      'p, member, events, read, owner, *, allow',
      'p, admin, jobs, list|read|create|update|delete|finish|reopen|stamp|unlock|hold|hand-over|sign|log|leak, any, *, allow',
      'p, admin, events, list|read|create, any, *, allow',
    ].join('\n'),
  ),
}
