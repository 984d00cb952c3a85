/** A JSON Patch of hidden fields asks for a new sign-in only if the whole patch would then get past the policy. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'

const TYPE = 'application/json-patch+json'

const SCHEMA = JSON.stringify({
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/files', methods: ['GET', 'POST'] },
      { path: '/files/{id}', methods: ['GET', 'PATCH'] },
    ],
  },
  properties: {
    id: { type: 'string', readOnly: true },
    createdAt: { type: 'string', format: 'date-time', readOnly: true },
    updatedAt: { type: 'string', format: 'date-time', readOnly: true },
    shown: {},
    edited: {},
    sealed: {},
    secret: {},
    vault: {},
  },
  additionalProperties: false,
})

const FILES = {
  'schemas/files.json': SCHEMA,
  'policies/conditions.yaml':
    'fresh: { signedIn: { within: 15m } }\nstrong: { signedIn: { acr: ["urn:example:mfa"] } }\n',
  'policies/views.yaml': `files:
  seen: [id, shown, edited, sealed]
  edited: [edited]
  sealed: [sealed]
  secret: [secret]
accounts:
  balance: [id]
`,
  'policies/policy.csv': `p, everyone, *, options, any, *, allow
p, member, files, read, any, seen, allow
p, member, files, read, fresh, secret, allow
p, member, files, update, any, edited, allow
p, member, files, update, fresh, secret, allow
p, member, files, update, strong, sealed, allow
`,
}

describe('a JSON Patch that names or reads hidden fields', () => {
  let server: TestServer
  let token: string
  before(async () => {
    server = await startTestServer({ files: FILES })
    token = await server.token('alice', 'member')
    const stored = [{ a: 1 }, { a: 2 }, undefined]
    const objects = stored.map((secret, i) => ({
      id: `f${i}`,
      document: { shown: 1, edited: 1, sealed: 1, ...(secret ? { secret, vault: secret } : {}) },
    }))
    await server.app.seeding.insert('files', objects)
  })
  after(() => server.stop())

  const secret = { op: 'add', path: '/secret', value: { a: 1 } }
  const test = { op: 'test', path: '/secret', value: { a: 1 } }
  const edited = { op: 'replace', path: '/edited', value: 2 }
  const shown = { op: 'replace', path: '/shown', value: 2 }
  const sealed = { op: 'replace', path: '/sealed', value: 2 }
  const vault = { op: 'add', path: '/vault', value: { a: 1 } }
  const lost = { op: 'replace', path: '/edited/b', value: 1 }

  const FRESH = 'max_age="900"'
  const BOTH = 'acr_values="urn:example:mfa", max_age="900"'

  const cases: readonly [what: string, patch: readonly object[], challenge: string | undefined][] = [
    ['writes a field that a fresh sign-in opens', [secret], FRESH],
    ['writes it together with a field that is open', [secret, edited], FRESH],
    ['writes it together with a field that nobody may write', [secret, shown], undefined],
    ['writes it together with a field that nobody may see', [secret, vault], undefined],
    ['writes it together with a field that a strong sign-in opens', [secret, sealed], BOTH],
    ['writes it, and does not fit the object', [secret, lost], FRESH],
    ['tests it', [test], FRESH],
    ['tests it, and writes a field that nobody may see', [test, vault], undefined],
  ]
  for (const [what, patch, challenge] of cases) {
    it(`${challenge ? 'asks for a sign-in' : 'is 403'} where it ${what}, whatever is stored`, async () => {
      for (const id of ['f0', 'f1', 'f2']) {
        const headers = { 'content-type': TYPE }
        const answer = await server.ask('PATCH', `/files/${id}`, { token, headers, body: JSON.stringify(patch) })
        expect([answer.status, answer.body.code]).to.deep.equal(
          challenge ? [401, 'step-up-required'] : [403, 'field-forbidden'],
        )
        if (challenge) expect(answer.headers.get('www-authenticate')).to.match(new RegExp(`required", ${challenge}$`))
      }
    })
  }
})
