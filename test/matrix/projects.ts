/** A policy whose relations rest on other objects: projects of tenants, their members, and tasks with a life. */

const OWN = {
  id: { type: 'string', readOnly: true },
  createdAt: { type: 'string', format: 'date-time', readOnly: true },
  updatedAt: { type: 'string', format: 'date-time', readOnly: true },
}

function schema(path: string, properties: Readonly<Record<string, object>>, required: readonly string[]): string {
  const routes = [
    { path: `/${path}`, methods: ['GET', 'POST'] },
    { path: `/${path}/{id}`, methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
  ]
  return JSON.stringify({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: path,
    type: 'object',
    'x-resource': { routes },
    properties: { ...OWN, ...properties },
    required,
    additionalProperties: false,
  })
}

const ID = { type: 'string', minLength: 1, maxLength: 64 }

const SCHEMAS = {
  projects: schema('projects', { leadId: ID, name: { type: 'string', maxLength: 20 } }, ['name']),
  memberships: schema(
    'memberships',
    { projectId: ID, userId: ID, role: { type: 'string', enum: ['viewer', 'editor'] } },
    ['projectId', 'userId', 'role'],
  ),
  tasks: schema(
    'tasks',
    {
      projectId: ID,
      assigneeId: ID,
      title: { type: 'string', maxLength: 20 },
      status: { type: 'string', enum: ['open', 'done', 'archived'], default: 'open' },
    },
    ['projectId', 'title'],
  ),
}

const OWNERSHIP = `projects:
  relations:
    lead: leadId
    member: { some: memberships, where: projectId, relation: self }
    editor: { some: memberships, where: projectId, relation: editor }
memberships:
  relations:
    self: userId
    editing: { field: role, in: [editor] }
    editor: { all: [self, editing] }
    leads: { through: projectId, to: projects, relation: lead }
tasks:
  relations:
    member: { through: projectId, to: projects, relation: member }
    editor: { through: projectId, to: projects, relation: editor }
    mine: assigneeId
    assigned: { field: assigneeId, present: true }
    open: { field: status, in: [open] }
    done: { field: status, in: [done] }
users:
  relations: { owner: id }
`

/** The clock in UTC some hours from now: the hours of `day` are those around the run, whenever it is. */
function clock(hours: number): string {
  return new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)
}

const CONDITIONS = `office: { network: [192.0.2.0/24] }
day: { days: mon-sun, from: "${clock(-2)}", to: "${clock(2)}", zone: UTC }
fresh: { signedIn: { within: 10m } }
strong: { signedIn: { acr: ["urn:example:mfa"] } }
machine: { credential: [api-key] }
`

const RULES = `p, admin, *, list|read|create|update|delete, any, *, allow
p, member, projects, list|read, member, *, allow
p, member, projects, list|read|update, lead, *, allow
p, member, projects, create, lead, *, allow
p, member, memberships, create|delete, leads, *, allow
p, member, memberships, read, self, *, allow
p, member, tasks, list|read, member, *, allow
p, member, tasks, create, editor+open, *, allow
p, member, tasks, replace|update, editor+open>open, *, allow
p, member, tasks, update, editor+open>done, *, allow
p, member, tasks, update, member+!assigned>mine, *, allow
p, support, tasks, list|read, office, *, allow
p, support, tasks, update, office+day, *, allow
p, support, tasks, delete, fresh, *, allow
p, support, projects, delete, strong, *, allow
p, support, projects, read, machine, *, allow
# end of policy
`

/** Beside the shipped schemas. */
export const PROJECT_FILES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(SCHEMAS).map(([name, text]) => [`schemas/${name}.json`, text])),
  'policies/ownership.yaml': OWNERSHIP,
  'policies/conditions.yaml': CONDITIONS,
  'policies/roles.yaml': ['member', 'support', 'admin'].map((role) => `${role}: { description: ${role} }\n`).join(''),
  'policies/policy.csv': RULES,
}

export const RELATED_CELLS = `method,path,object,member,admin
GET,/projects,none,200,200 [all]
GET,/projects/{id},other,403,200
GET,/projects/{id},lead,200,200
GET,/projects/{id},member,200,200
GET,/projects/{id},editor+member,200,200
PATCH,/projects/{id},lead,200,200
PATCH,/projects/{id},member,403,200
GET,/memberships/{id},self,200,200
GET,/memberships/{id},other,403,200
DELETE,/memberships/{id},leads,204,204
DELETE,/memberships/{id},self,403,204
DELETE,/memberships/{id},editing+editor+leads+self,204,204
GET,/tasks/{id},open,403,200
GET,/tasks/{id},member+open,200,200
GET,/tasks/{id},editor+member,200,200
GET,/tasks/{id},assigned+mine,403,200
GET,/tasks/{id},assigned+done+editor+member+mine,200,200
`

export const CONDITION_CELLS = `method,path,object,when,support,member,note
GET,/tasks/{id},open,office,200,403,
GET,/tasks/{id},open,,403,403,elsewhere
GET,/tasks,none,office,200 [all],200,
GET,/tasks,none,!office,403,200,
PATCH,/tasks/{id},open,office+day,200,403,
PATCH,/tasks/{id},open,office,403,403,at night
PATCH,/tasks/{id},open,day,403,403,elsewhere
DELETE,/tasks/{id},open,fresh,204,403,
DELETE,/tasks/{id},open,,401,403,step-up
DELETE,/projects/{id},other,strong,204,403,
DELETE,/projects/{id},other,,401,403,
GET,/projects/{id},other,machine,200,403,
GET,/projects/{id},other,,403,403,
`

export const TRANSITION_CELLS = `method,path,object,becomes,member,admin,note
POST,/tasks,none,editor+member+open,201,201,
POST,/tasks,none,done+editor+member,403,201,
POST,/tasks,none,member+open,403,201,a viewer
POST,/projects,none,lead,201,201,
POST,/memberships,none,leads,201,201,
POST,/memberships,none,editing+editor+self,403,201,into a project of others
PATCH,/tasks/{id},editor+member+open,open>done,200,200,
PATCH,/tasks/{id},member+open,open>done,403,200,
PATCH,/tasks/{id},done+editor+member,done>open,403,200,
PUT,/tasks/{id},editor+member+open,open>open,200,403,
PUT,/tasks/{id},editor+member+open,open>done,403,403,
PATCH,/tasks/{id},editor+member+open,editor+member>other,403,200,into another project
PATCH,/tasks/{id},member+open,other>assigned+mine,200,200,
PATCH,/tasks/{id},assigned+member+open,other>mine,403,200,
`
