/**
 * Parcels that people follow: owners see theirs, a department those of its people, teams those that a membership gives
 * them, support all but the secret, and an auditor only those on their way.
 */
import { readFileSync } from 'node:fs'
import { withRules } from '../policy-text.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const TEXT = { type: 'string', maxLength: 200 }
const SERVERS = { type: 'string', readOnly: true }

const schemaOf = (name: string, routes: readonly unknown[], properties: Readonly<Record<string, unknown>>) =>
  JSON.stringify({
    title: name,
    type: 'object',
    'x-resource': {
      routes: [
        { path: `/${name}`, methods: ['GET', 'POST'] },
        { path: `/${name}/{id}`, methods: ['GET', 'PATCH', 'DELETE'] },
        ...routes,
      ],
    },
    properties: {
      id: SERVERS,
      ...properties,
      createdAt: { ...SERVERS, format: 'date-time' },
      updatedAt: { ...SERVERS, format: 'date-time' },
    },
    additionalProperties: false,
  })

const PARCELS = schemaOf('parcels', [{ path: '/parcels/events', methods: ['GET'], events: { keep: '1h' } }], {
  ownerId: { ...TEXT, 'x-index': true },
  department: { ...TEXT, 'x-index': true },
  state: { type: 'string', enum: ['new', 'sent', 'lost'], default: 'new', 'x-index': true },
  teamId: { ...TEXT, 'x-index': true },
  note: { type: 'string', maxLength: 90_000 },
  secret: TEXT,
})

const EVERYTHING = 'list|read|create|update|delete, any, *, allow'

const PARCEL_RULES = [
  'p, member, parcels, read|list|watch, owner, open, allow',
  'p, member, parcels, read|list|watch, ofDepartment, brief, allow',
  'p, member, parcels, read|list|watch, team, open, allow',
  'p, support, parcels, read|list|watch, any, open, allow',
  'p, auditor, parcels, read|list|watch, sent, *, allow',
  'p, user:walt, parcels, read|list, any, open, allow',
  'p, user:wes, parcels, read|watch, any, open, allow',
  ...['parcels', 'memberships', 'teams'].map((name) => `p, admin, ${name}, ${EVERYTHING}`),
  'p, support, system/batch, send, any, *, allow',
].join('\n')

export const EVENTS_WORLD: Readonly<Record<string, string>> = {
  'schemas/parcels.json': PARCELS,
  'schemas/teams.json': schemaOf('teams', [], { name: TEXT }),
  'schemas/memberships.json': schemaOf('memberships', [], {
    teamId: { ...TEXT, 'x-index': true },
    userId: { ...TEXT, 'x-index': true },
  }),
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
memberships: { relations: { self: userId } }
teams: { relations: { member: { some: memberships, where: teamId, relation: self } } }
parcels:
  relations:
    owner: ownerId
    ofDepartment: { field: department, equals: subject.department }
    team: { through: teamId, to: teams, relation: member }
    sent: { field: state, in: [sent] }
`,
  'policies/views.yaml': `${SHIPPED('views.yaml')}
parcels:
  open: [id, ownerId, department, state, teamId, note, createdAt, updatedAt]
  brief: [id, state, department]
`,
  'policies/policy.csv': withRules(SHIPPED('policy.csv'), PARCEL_RULES),
}
