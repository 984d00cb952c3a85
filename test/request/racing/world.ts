/** What the clients of racing-memberships.test.ts write on: who may write what, and the objects at the start. */
import type { Document } from '../../../src/resources/object.ts'

interface Seeded {
  readonly id: string
  readonly document: Document
}

const PROJECTS = 4
const CLIENTS = 16

/** Client i is a member of project i mod 4, of the team `red`, with a task and a plan of its own. */
export const USERS: readonly string[] = Array.from({ length: CLIENTS }, (_, i) => `u${i}`)

export const TEAM = 'red'

export function projectOf(user: string): string {
  return `p${Number(user.slice(1)) % PROJECTS}`
}

const ofUsers = (prefix: string, document: (user: string) => Document): readonly Seeded[] =>
  USERS.map((user) => ({ id: `${prefix}${user}`, document: document(user) }))

export const WORLD: Readonly<Record<string, readonly Seeded[]>> = {
  users: ofUsers('', () => ({ team: TEAM })),
  projects: Array.from({ length: PROJECTS }, (_, i) => ({ id: `p${i}`, document: {} })),
  memberships: ofUsers('m-', (user) => ({ userId: user, projectId: projectOf(user) })),
  tasks: ofUsers('t-', (user) => ({ projectId: projectOf(user) })),
  plans: ofUsers('l-', () => ({ team: TEAM })),
}

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  users: ['team'],
  projects: [],
  memberships: ['userId', 'projectId'],
  suspensions: ['userId', 'projectId'],
  tasks: ['projectId', 'title'],
  plans: ['team', 'title'],
}

const POLICY = `p, member, tasks, create|update|delete, member, *, allow
p, everyone, tasks, create|update|delete, suspended, *, deny
p, member, plans, update, team, *, allow
p, keeper, memberships, create|delete, any, *, allow
p, keeper, suspensions, create|delete, any, *, allow
p, keeper, users, update, any, *, allow
`

const OWNERSHIP = `tasks:
  relations:
    member: { through: projectId, to: projects, relation: member }
    suspended: { through: projectId, to: projects, relation: suspended }
projects:
  relations:
    member: { some: memberships, where: projectId, relation: self }
    suspended: { some: suspensions, where: projectId, relation: self }
memberships: { relations: { self: userId } }
suspensions: { relations: { self: userId } }
plans: { relations: { team: { field: team, equals: subject.team } } }
`

export const POLICY_TEXTS = {
  'policy.csv': POLICY,
  'roles.yaml': 'member: { description: Writes. }\nkeeper: { description: Says who writes., privileged: true }\n',
  'ownership.yaml': OWNERSHIP,
}

/** Every field is indexed, so that decision records have it. */
export const SCHEMAS: readonly { readonly name: string; readonly text: string }[] = Object.entries(FIELDS).map(
  ([name, fields]) => ({ name, text: JSON.stringify(schemaOf(name, fields)) }),
)

function schemaOf(name: string, fields: readonly string[]): object {
  const server = { type: 'string', readOnly: true }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: name,
    type: 'object',
    'x-resource': {
      routes: [
        { path: `/${name}`, methods: ['POST'] },
        { path: `/${name}/{id}`, methods: ['PATCH', 'DELETE'] },
      ],
    },
    properties: {
      id: server,
      ...Object.fromEntries(fields.map((field) => [field, { type: 'string', 'x-index': true }])),
      createdAt: server,
      updatedAt: server,
    },
    additionalProperties: false,
  }
}
