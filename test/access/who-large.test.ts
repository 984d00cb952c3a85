/** `access who` decides once for all who are alike: 10,000 people take a second. */
import { expect } from 'chai'
import type { WhoReport } from '../../src/tools/access/who.ts'
import { sallyport } from '../command.ts'
import { ENGINES } from '../data/each-engine.ts'

const PEOPLE = 10_000
const MEMBERS = 5000
/** Of CPU. Some 1000 on an idle machine; a decision for each of the people takes far longer. */
const MOST_MS = 6000

const TEXT = { type: 'string' }
const READ_ONLY = { type: 'string', readOnly: true }
const SERVER = { id: READ_ONLY, createdAt: READ_ONLY, updatedAt: READ_ONLY }
const INDEXED = { type: 'string', 'x-index': true }

function schema(title: string, properties: object): string {
  const name = `${title.toLowerCase()}s`
  const routes = [
    { path: `/${name}`, methods: ['GET'] },
    { path: `/${name}/{id}`, methods: ['GET'] },
  ]
  return JSON.stringify({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title,
    type: 'object',
    'x-resource': { routes },
    properties,
    additionalProperties: false,
  })
}

const FILES = {
  'schemas/tasks.json': schema('Task', { ...SERVER, projectId: INDEXED, title: TEXT }),
  'schemas/projects.json': schema('Project', { ...SERVER, name: TEXT }),
  'schemas/memberships.json': schema('Membership', {
    ...SERVER,
    projectId: INDEXED,
    userId: INDEXED,
    role: TEXT,
  }),
  'policies/ownership.yaml': `tasks: { relations: { editor: { through: projectId, to: projects, relation: editor } } }
projects: { relations: { editor: { some: memberships, where: projectId, relation: editor } } }
memberships:
  relations: { editor: { all: [self, editing] }, self: userId, editing: { field: role, in: [editor] } }
`,
  'policies/policy.csv': `p, member, tasks, list|read, editor, *, allow
p, auditor, tasks, list|read, any, *, allow
`,
  'policies/guarantees.yaml': '[]\n',
}

for (const [name, onEngine] of ENGINES) {
  describe(`access who among ${PEOPLE} people on ${name}`, () => {
    it('decides for groups, not one by one', async function () {
      this.timeout(120_000)
      const on = await onEngine({ files: FILES, uncheckedBecause: 'only commands ask' })
      try {
        const { seeding } = on.server.app
        const range = (length: number) => Array.from({ length }, (_, i) => i)
        const roles = (i: number) => [i % 100 === 0 ? 'auditor' : 'member']
        const people = range(PEOPLE).map((i) => ({
          id: `p${i}`,
          document: { email: `p${i}@example.com`, name: `Person ${i}`, roles: roles(i) },
        }))
        const memberships = range(MEMBERS).map((i) => ({
          id: `m${i}`,
          document: { projectId: 'big', userId: `p${i}`, role: i % 2 === 0 ? 'editor' : 'viewer' },
        }))
        await seeding.insert('users', people)
        await seeding.insert('projects', [{ id: 'big', document: { name: 'Big' } }])
        await seeding.insert('memberships', memberships)
        await seeding.insert('tasks', [{ id: 't1', document: { projectId: 'big', title: 'A task' } }])
        const begun = process.cpuUsage()
        const { stdout, stderr } = await sallyport(['access', 'who', 'GET', '/tasks/t1', '--format', 'json'], {
          env: on.env,
        })
        const { user, system } = process.cpuUsage(begun)
        expect(stdout, stderr).to.not.equal('')
        const { who, undecided } = JSON.parse(stdout) as WhoReport
        const editors = range(MEMBERS).filter((i) => i % 2 === 0 || i % 100 === 0)
        const auditors = range(PEOPLE).filter((i) => i % 100 === 0)
        const expected = new Set([...editors, ...auditors].map((i) => `p${i}`))
        const found = who.filter(({ kind }) => kind === 'person').map(({ subject }) => subject)
        expect(undecided).to.deep.equal([])
        expect(new Set(found)).to.deep.equal(expected)
        expect((user + system) / 1000).to.be.at.most(MOST_MS)
      } finally {
        await on.stop()
      }
    })
  })
}
