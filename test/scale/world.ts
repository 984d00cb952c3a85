/** What the clients of the scale tests work on: the schemas, the two policies that take turns, and the first objects. */
import type { Document } from '../../src/resources/object.ts'
import { filesOf } from '../policy/render.ts'

/** Each is a member of the project, has a session, and writes tasks. */
export const WRITERS: readonly string[] = Array.from({ length: 6 }, (_, i) => `u${i}`)
export const KEEPERS: readonly string[] = ['k0', 'k1']
export const PROBER = 'prober'
export const FLOODER = 'flooder'
export const PROJECT = 'p1'
export const PLAN = 'plan'

/** No window of this length admits more requests of the flooder. */
export const LIMIT = { allow: 30, windowMs: 3000 }

/** The task that a writer changes, whoever else does. */
export const taskOf = (writer: string) => `task-${writer}`
export const membershipOf = (writer: string) => `membership-${writer}`
const emailOf = (user: string) => `${user}@example.com`

const ROLES: Readonly<Record<string, string>> = {
  member: 'Writes tasks.',
  keeper: 'Says who writes.',
  prober: 'Asks for the plan.',
  flooder: 'Asks too often.',
}

export function roleOf(user: string): string {
  if (WRITERS.includes(user)) return 'member'
  return KEEPERS.includes(user) ? 'keeper' : user
}

export const USERS: readonly string[] = [...WRITERS, ...KEEPERS, PROBER, FLOODER]

const RULES = `p, everyone, system/health, read, any, *, allow
p, member, tasks, create|update, member, *, allow
p, keeper, memberships, create|delete, any, *, allow
p, keeper, users, update, any, *, allow
`
/** Only the open policy has it. */
const OPEN_RULE = 'p, prober, plans, read|update, any, *, allow\n'

const OWNERSHIP = `tasks:
  relations:
    member: { through: projectId, to: projects, relation: member }
projects:
  relations:
    member: { some: memberships, where: projectId, relation: self }
memberships: { relations: { self: userId } }
`

const LIMITS = `body: 100kb
page: { default: 50, max: 200 }
limits:
  flood: { per: subject, allow: ${LIMIT.allow}, window: ${LIMIT.windowMs / 1000}s, match: { role: flooder } }
`

/** The label of the version that is published before the instances start. */
export const FIRST = 'version 0'

/** What a user is called while the role is taken away, before a number. */
export const withoutRole = (user: string) => `${user} without role`

export type PolicyKind = 'open' | 'closed'

/** By name, the content of each file. `label`: different texts, so that each version has a revision of its own. */
export function policyFiles(kind: PolicyKind, label: string): ReadonlyMap<string, string> {
  const roles = Object.entries(ROLES).map(([role, description]) =>
    role === 'keeper'
      ? `${role}: { description: ${description}, privileged: true }`
      : `${role}: { description: ${description} }`,
  )
  const files = filesOf({
    'policy.csv': `${RULES}${kind === 'open' ? OPEN_RULE : ''}# ${label}\n# end of policy\n`,
    'roles.yaml': `${roles.join('\n')}\n`,
    'ownership.yaml': OWNERSHIP,
    'limits.yaml': LIMITS,
  })
  return new Map([...Object.values(files).map(({ name, text }) => [name, text] as const), ['blocked.txt', '']])
}

export const OBJECTS: Readonly<Record<string, readonly { readonly id: string; readonly document: Document }[]>> = {
  users: USERS.map((id) => ({ id, document: { email: emailOf(id), displayName: id, roles: [roleOf(id)] } })),
  projects: [{ id: PROJECT, document: {} }],
  memberships: WRITERS.map((id) => ({ id: membershipOf(id), document: { userId: id, projectId: PROJECT } })),
  tasks: WRITERS.map((id) => ({ id: taskOf(id), document: { projectId: PROJECT, title: 'first' } })),
  plans: [{ id: PLAN, document: { title: 'first' } }],
}

const text = { type: 'string', maxLength: 200 }
const indexed = { ...text, 'x-index': true }

const FIELDS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  users: {
    email: { type: 'string', format: 'email', maxLength: 254, 'x-index': true, 'x-unique': true },
    // So decision records show which change took the roles away.
    displayName: indexed,
    roles: { type: 'array', items: { type: 'string', maxLength: 64 }, maxItems: 50, uniqueItems: true },
  },
  projects: {},
  memberships: { userId: indexed, projectId: indexed },
  // Decision records have the indexed fields, so they show which title was written.
  tasks: { projectId: indexed, title: indexed },
  plans: { title: indexed },
}

export const SCHEMAS: ReadonlyMap<string, string> = new Map(
  Object.entries(FIELDS).map(([name, fields]) => [`${name}.json`, JSON.stringify(schemaOf(name, fields))]),
)

function schemaOf(name: string, fields: Readonly<Record<string, object>>): object {
  const server = { type: 'string', readOnly: true }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: name,
    type: 'object',
    'x-resource': {
      routes: [
        { path: `/${name}`, methods: ['GET', 'POST'] },
        { path: `/${name}/{id}`, methods: ['GET', 'PATCH', 'DELETE'] },
      ],
    },
    properties: { id: server, ...fields, createdAt: server, updatedAt: server },
    ...(name === 'users' ? { required: ['email', 'displayName'] } : {}),
    additionalProperties: false,
  }
}
