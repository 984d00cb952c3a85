/** A field that the caller can neither read nor write is refused whatever its value, so that no answer tells the value. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')
const ID = '01890a5d-ac96-774b-bcce-b302099a8057'

const FILES = {
  'policies/views.yaml': `${SHIPPED('views.yaml')}\nnotes:\n  brief: [id, title]\n  heading: [title]\n`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    `p, user:eve, notes, read,           any, brief,   allow
p, user:eve, notes, update|replace, any, heading, allow
p, user:mel, notes, update|replace, any, *,       allow`,
  ),
}

describe('a field that is neither readable nor writable', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startTestServer({ files: FILES })
    token = await server.token('eve')
    await server.app.seeding.insert('notes', [{ id: ID, document: { ownerId: 'alice', title: 't', body: 'secret' } }])
  })
  after(() => server.stop())

  for (const method of ['PATCH', 'PUT']) {
    it(`is refused alike by ${method}, whether its value is right, wrong or of another type`, async () => {
      const { createdAt } = (await server.app.store.get('notes', ID)) ?? {}
      for (const hidden of [
        { createdAt },
        { createdAt: '2020-01-01T00:00:00.000Z' },
        { createdAt: 7 },
        { body: 'secret' },
        { body: 'guess' },
        { body: 7 },
        { body: null },
      ]) {
        const { status, body } = await server.ask(method, `/api/v1/notes/${ID}`, {
          token,
          body: { title: 't', ...hidden },
        })
        expect([status, body.code, JSON.stringify(hidden)]).to.deep.equal([
          403,
          'field-forbidden',
          JSON.stringify(hidden),
        ])
      }
    })
  }

  for (const [method, contentType] of [
    ['PATCH', 'application/merge-patch+json'],
    ['PATCH', 'application/json-patch+json'],
    ['PUT', 'application/json'],
  ] as const) {
    it(`is refused alike where the server sets it and \`*\` grants the write (${method}, ${contentType})`, async () => {
      const { createdAt } = (await server.app.store.get('notes', ID)) ?? {}
      const answers = []
      for (const value of [createdAt, '2020-01-01T00:00:00.000Z', 7]) {
        const patch = [{ op: 'replace', path: '/createdAt', value }]
        const body = contentType.includes('json-patch') ? patch : { title: 't', createdAt: value }
        const blind = await server.token('mel')
        const headers = { 'content-type': contentType }
        const answer = await server.ask(method, `/api/v1/notes/${ID}`, { token: blind, headers, body })
        answers.push([answer.status, answer.body.code, answer.body.errors?.[0].pointer])
      }
      expect(answers).to.deep.equal(Array(3).fill([403, 'field-forbidden', '/createdAt']))
    })
  }

  it('is another matter than a field that is readable but the server’s, and than one that is not declared', async () => {
    const readOnly = await server.ask('PATCH', `/api/v1/notes/${ID}`, { token, body: { id: 'another' } })
    expect([readOnly.status, readOnly.body.errors[0].code]).to.deep.equal([400, 'readOnly'])
    for (const name of ['nope', 'toString', '__proto__']) {
      const unknown = await server.ask('PATCH', `/api/v1/notes/${ID}`, { token, body: `{"${name}":null}` })
      expect([unknown.status, unknown.body.errors[0].pointer]).to.deep.equal([400, `/${name}`])
    }
  })
})
