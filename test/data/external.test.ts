/** A resource that is kept elsewhere: the server starts with it, has no table and no route for it, and no tool misses one. */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { withRules } from '../policy-text.ts'
import { data } from './command.ts'
import { ENGINES, type OnEngine } from './each-engine.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const ID = { type: 'string', readOnly: true }
const TOOLS = {
  title: 'Tool',
  type: 'object',
  'x-resource': {
    external: true,
    actions: ['approve'],
    routes: [
      { path: '/tools/{id}', methods: ['GET', 'PUT'] },
      { path: '/tools/{id}/run', methods: ['POST'], action: 'call' },
    ],
  },
  properties: { id: ID, team: { type: 'string', maxLength: 64 } },
  additionalProperties: false,
}
/** The same, stored here. */
const STORED = {
  ...TOOLS,
  'x-resource': {
    routes: [
      { path: '/tools', methods: ['GET', 'POST'] },
      { path: '/tools/{id}', methods: ['GET'] },
    ],
  },
  properties: { ...TOOLS.properties, createdAt: ID, updatedAt: ID },
}

const FILES = {
  'schemas/tools.json': JSON.stringify(TOOLS),
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
tools:
  relations:
    mine: { field: team, equals: subject.department }
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    'p, member, tools, call|read, mine, *, allow\np, admin, tools, approve, any, *, allow',
  ),
}

for (const [name, open] of ENGINES) {
  describe(`a resource that is kept elsewhere, beside ${name}`, () => {
    let on: OnEngine
    before(async () => {
      on = await open({ demo: true, files: FILES })
    })
    after(() => on.stop())

    it('has no route of the server: every method gets 404', async () => {
      const token = await on.server.token('dora', 'admin')
      for (const [method, path] of [
        ['GET', '/tools/7'],
        ['PUT', '/tools/7'],
        ['POST', '/tools/7/run'],
        ['OPTIONS', '/tools/7'],
        ['GET', '/tools'],
      ] as const) {
        const answer = await on.server.ask(method, path, { token })
        expect([method, path, answer.status]).to.deep.equal([method, path, 404])
      }
    })

    it('is not in the OpenAPI document', async () => {
      const token = await on.server.token('dora', 'admin')
      const { status, text } = await on.server.ask('GET', '/openapi.json', { token })
      expect(status).to.equal(200)
      expect(text).not.to.match(/tools|Tool/)
    })

    it('is not missed by the check of stored data', async () => {
      const ended = await data(['check', '--database', on.url, '--format', 'json'], on.server)
      expect(ended.code, ended.stderr).to.equal(0)
      const { findings, resources } = JSON.parse(ended.stdout)
      expect(findings).to.deep.equal([])
      expect(resources.map((one: { resource: string }) => one.resource)).not.to.include('tools')
    })
  })

  describe(`a resource whose objects moved elsewhere, on ${name}`, () => {
    it('leaves its stored objects to the check of stored data, which names them', async () => {
      const on = await open({ files: { ...FILES, 'schemas/tools.json': JSON.stringify(STORED), ...OPEN_RULES } })
      try {
        const token = await on.server.token('dora', 'admin')
        const made = await on.server.ask('POST', '/tools', { token, body: { team: 'red' } })
        expect(made.status, made.text).to.equal(201)
        await writeFile(`${on.server.folder}/schemas/tools.json`, JSON.stringify(TOOLS))
        const ended = await data(['check', '--database', on.url, '--format', 'json'], on.server)
        expect(ended.stdout + ended.stderr).to.match(/tools/)
        expect(ended.code).to.equal(1)
      } finally {
        await on.stop()
      }
    })
  })
}

const OPEN_RULES = {
  'policies/policy.csv': withRules(SHIPPED('policy.csv'), 'p, admin, tools, create|read, any, *, allow'),
}
