/** Resources that refer to one another: projects, tasks, remarks and contracts, stamps and seals. */
import { readFileSync } from 'node:fs'
import { withRules } from '../policy-text.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const ID = { type: 'string', maxLength: 99 }

const usualRoutes = (name: string): readonly Readonly<Record<string, unknown>>[] => [
  { path: `/${name}`, methods: ['GET', 'POST'] },
  { path: `/${name}/{id}`, methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
]

function schemaOf(name: string, properties: Readonly<Record<string, unknown>>, routes = usualRoutes(name)): string {
  return JSON.stringify({
    title: name,
    type: 'object',
    'x-resource': { routes },
    properties: {
      id: { ...ID, readOnly: true },
      createdAt: { type: 'string', readOnly: true },
      updatedAt: { type: 'string', readOnly: true },
      ownerId: ID,
      ...properties,
    },
    additionalProperties: false,
  })
}

const to = (resource: string, onDelete?: string) => ({ 'x-reference': { resource, ...(onDelete && { onDelete }) } })

export const REFERRING = {
  'schemas/projects.json': schemaOf('projects', {}),
  'schemas/tasks.json': schemaOf(
    'tasks',
    {
      projectId: { ...ID, ...to('projects', 'cascade') },
      parentId: { ...ID, type: ['string', 'null'], ...to('tasks', 'null') },
      seenWith: { ...ID, ...to('tasks', 'null') },
    },
    [...usualRoutes('tasks'), { path: '/projects/{projectId}/tasks', methods: ['GET', 'POST'] }],
  ),
  'schemas/remarks.json': schemaOf('remarks', { taskId: { ...ID, ...to('tasks', 'cascade') }, text: ID }),
  'schemas/contracts.json': schemaOf('contracts', {
    projectId: { ...ID, ...to('projects') },
    taskId: { ...ID, ...to('tasks') },
    stampId: { ...ID, ...to('stamps') },
    sealId: { ...ID, ...to('seals') },
  }),
  // With a text, it needs its task.
  'schemas/pledges.json': schemaOf('pledges', { taskId: { ...ID, ...to('tasks', 'null') }, text: ID }).replace(
    /\}$/,
    ',"dependentRequired":{"text":["taskId"]}}',
  ),
  // No GET shows one: a list shows a part of them.
  'schemas/stamps.json': schemaOf('stamps', { secret: ID }, [
    { path: '/stamps', methods: ['GET', 'POST'], view: 'short' },
  ]),
  // The path that shows all of them has ended.
  'schemas/seals.json': schemaOf('seals', { secret: ID }, [
    { path: '/v0/seals/{id}', methods: ['GET'], deprecated: '2020-01-01', sunset: '2021-01-01' },
    { path: '/seals/{id}', methods: ['GET'], view: 'short', deprecated: '2020-01-01' },
  ]),
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
projects: { relations: { owner: ownerId } }
tasks: { relations: { owner: ownerId } }
remarks: { relations: { owner: ownerId } }
pledges: { relations: { owner: ownerId } }
contracts: { relations: { owner: ownerId } }
stamps: { relations: { owner: ownerId } }
seals: { relations: { owner: ownerId } }
`,
  'policies/views.yaml': `${SHIPPED('views.yaml')}
tasks: { who: [ownerId], where: [projectId] }
stamps: { short: [id, ownerId] }
seals: { short: [id, ownerId] }
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    [
      ...['projects', 'tasks', 'remarks', 'pledges', 'contracts', 'stamps', 'seals'].flatMap((name) => [
        `p, member, ${name}, list|read|create|update|replace|delete, owner, *, allow`,
        `p, admin, ${name}, list|read|create|update|replace|delete, any, *, allow`,
      ]),
      // Writes a field that it can't read.
      'p, support, tasks, read|update, any, who, allow',
      'p, support, tasks, update, any, where, allow',
    ].join('\n'),
  ),
}
