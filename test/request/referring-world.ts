/** Resources that refer to one another: projects, tasks, remarks and contracts. */
import { readFileSync } from 'node:fs'
import { withRules } from '../policy-text.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const ID = { type: 'string', maxLength: 99 }

function schemaOf(name: string, properties: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({
    title: name,
    type: 'object',
    'x-resource': {
      routes: [
        { path: `/${name}`, methods: ['GET', 'POST'] },
        { path: `/${name}/{id}`, methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
      ],
    },
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
  'schemas/tasks.json': schemaOf('tasks', {
    projectId: { ...ID, ...to('projects', 'cascade') },
    parentId: { ...ID, type: ['string', 'null'], ...to('tasks', 'null') },
    seenWith: { ...ID, ...to('tasks', 'null') },
  }),
  'schemas/remarks.json': schemaOf('remarks', { taskId: { ...ID, ...to('tasks', 'cascade') }, text: ID }),
  'schemas/contracts.json': schemaOf('contracts', {
    projectId: { ...ID, ...to('projects') },
    taskId: { ...ID, ...to('tasks') },
  }),
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
projects: { relations: { owner: ownerId } }
tasks: { relations: { owner: ownerId } }
remarks: { relations: { owner: ownerId } }
contracts: { relations: { owner: ownerId } }
`,
  'policies/views.yaml': `${SHIPPED('views.yaml')}
tasks: { who: [ownerId], where: [projectId] }
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    [
      ...['projects', 'tasks', 'remarks', 'contracts'].flatMap((name) => [
        `p, member, ${name}, list|read|create|update|replace|delete, owner, *, allow`,
        `p, admin, ${name}, list|read|create|update|replace|delete, any, *, allow`,
      ]),
      // Writes a field that it can't read.
      'p, support, tasks, read|update, any, who, allow',
      'p, support, tasks, update, any, where, allow',
    ].join('\n'),
  ),
}
