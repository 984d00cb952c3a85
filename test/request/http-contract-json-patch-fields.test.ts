/** docs/http.md, "PATCH": the readable and the writable fields hold inside of patches, and no answer tells a hidden value. */
import { expect } from 'chai'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

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
    id: { type: 'string', format: 'uuid', readOnly: true },
    createdAt: { type: 'string', format: 'date-time', readOnly: true },
    updatedAt: { type: 'string', format: 'date-time', readOnly: true },
    shown: {},
    edited: {},
    // Writable for a member who can't read it, and neither.
    dropbox: {},
    secret: {},
  },
  additionalProperties: false,
})

const VIEWS = 'files:\n  seen: [id, shown, edited]\n  written: [edited, dropbox]\naccounts:\n  balance: [id]\n'

const POLICY = [
  'p, everyone, *, options, any, *, allow',
  'p, admin, files, *, any, *, allow',
  'p, member, files, read, any, seen, allow',
  'p, member, files, update, any, written, allow',
  '',
].join('\n')

/** An object with the value, with another, and without the field. */
const STATES = [{ a: 1 }, { a: 2 }, undefined]

describe('a JSON Patch of a caller with some fields', () => {
  let server: TestServer
  let admin: string
  let member: string

  before(async () => {
    const files = { 'schemas/files.json': SCHEMA, 'policies/views.yaml': VIEWS, 'policies/policy.csv': POLICY }
    server = await startTestServer({ files })
    admin = await server.token('ada', 'admin')
    member = await server.token('alice', 'member')
  })
  after(() => server.stop())

  it('writes what is writable, from what is readable', async () => {
    for (const patch of [
      [{ op: 'add', path: '/edited', value: 2 }],
      [{ op: 'replace', path: '/edited', value: 2 }],
      [{ op: 'remove', path: '/edited' }],
      [{ op: 'copy', from: '/shown', path: '/edited' }],
      [{ op: 'copy', from: '/shown', path: '/dropbox' }],
      [{ op: 'move', from: '/edited', path: '/dropbox' }],
      [{ op: 'add', path: '/dropbox', value: 2 }],
      [{ op: 'test', path: '/shown', value: { a: 1 } }],
      [
        { op: 'test', path: '/shown/a', value: 1 },
        { op: 'add', path: '/edited/b', value: 1 },
      ],
    ]) {
      expect((await patchWith(await create(), patch)).status, JSON.stringify(patch)).to.equal(200)
    }
  })

  it('a field that changes and is not writable is 403, also by way of a move', async () => {
    for (const patch of [
      [{ op: 'replace', path: '/shown', value: 2 }],
      [{ op: 'add', path: '/shown/a', value: 2 }],
      [{ op: 'remove', path: '/shown' }],
      [{ op: 'copy', from: '/edited/a', path: '/shown' }],
      [{ op: 'move', from: '/shown', path: '/edited' }],
      [{ op: 'move', from: '/edited', path: '/shown' }],
    ]) {
      const path = await create()
      const answer = await patchWith(path, patch)
      expect(refused(answer), JSON.stringify(patch)).to.deep.equal([403, 'field-forbidden', ['/shown']])
      expect((await server.ask('GET', path, { token: admin })).body.shown).to.deep.equal({ a: 1 })
    }
  })

  it('only what really changes must be writable: a readable field may be brought back as it was', async () => {
    for (const patch of [
      [{ op: 'replace', path: '/shown', value: { a: 1 } }],
      [{ op: 'add', path: '/shown/a', value: 1 }],
      [
        { op: 'remove', path: '/shown' },
        { op: 'add', path: '/shown', value: { a: 1 } },
      ],
      [
        { op: 'move', from: '/shown', path: '/edited' },
        { op: 'copy', from: '/edited', path: '/shown' },
      ],
    ]) {
      expect((await patchWith(await create(), patch)).status, JSON.stringify(patch)).to.equal(200)
    }
  })

  it('whatever tells a value reads it: 403 for that field, the same answer whatever is stored (no oracle)', async () => {
    for (const field of ['dropbox', 'secret']) {
      for (const patch of [
        [{ op: 'test', path: `/${field}`, value: { a: 1 } }],
        [{ op: 'test', path: `/${field}/a`, value: 1 }],
        [{ op: 'copy', from: `/${field}`, path: '/edited' }],
        [{ op: 'copy', from: `/${field}/a`, path: '/edited' }],
        [{ op: 'move', from: `/${field}`, path: '/edited' }],
        [{ op: 'remove', path: `/${field}` }],
        [{ op: 'remove', path: `/${field}/a` }],
        [{ op: 'replace', path: `/${field}`, value: { a: 1 } }],
        [{ op: 'replace', path: `/${field}/a`, value: 1 }],
        [{ op: 'add', path: `/${field}/a`, value: 1 }],
        [{ op: 'add', path: `/${field}/-`, value: 1 }],
        [{ op: 'add', path: `/${field}/01`, value: 1 }],
        [{ op: 'copy', from: '/shown', path: `/${field}/b` }],
        // Behind faults that would be told otherwise, and after the field was overwritten.
        [
          { op: 'test', path: '/shown', value: 'wrong' },
          { op: 'test', path: `/${field}`, value: 1 },
        ],
        [
          { op: 'add', path: '/dropbox', value: 1 },
          { op: 'test', path: `/${field}`, value: 1 },
        ],
      ]) {
        const answers = await answersFor(field, patch)
        expect(answers[0], JSON.stringify(patch)).to.deep.equal([403, 'field-forbidden', [`/${field}`]])
        expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).to.equal(1)
      }
    }
  })

  it('a field that is neither readable nor writable is 403 even for a blind write of it', async () => {
    const answers = await answersFor('secret', [{ op: 'add', path: '/secret', value: { a: 1 } }])
    for (const answer of answers) expect(answer).to.deep.equal([403, 'field-forbidden', ['/secret']])
  })

  it('a blind write of a writable field is 200 whatever is stored', async () => {
    const answers = await answersFor('dropbox', [{ op: 'add', path: '/dropbox', value: { a: 1 } }])
    for (const [status] of answers) expect(status).to.equal(200)
  })

  it('says which fields, all at once, and whether reading or writing them was refused', async () => {
    const path = await create()
    const { body } = await patchWith(path, [
      { op: 'test', path: '/secret', value: 1 },
      { op: 'test', path: '/dropbox', value: 1 },
    ])
    expect(body.errors).to.deep.equal([
      { pointer: '/secret', detail: 'is not readable for this caller', code: 'forbidden' },
      { pointer: '/dropbox', detail: 'is not readable for this caller', code: 'forbidden' },
    ])
    // The record of the write before may come later: it is shipped when it has committed.
    expect((await server.decisions()).findLast(({ method }) => method === 'PATCH')).to.deep.include({
      fieldsRefused: ['secret', 'dropbox'],
      outcome: 'refused',
    })
  })

  it('one who may read everything gets the answers that the others do not (negative control)', async () => {
    const patch = [{ op: 'test', path: '/secret', value: { a: 1 } }]
    const statuses = []
    for (const secret of STATES) statuses.push((await patchWith(await create({ secret }), patch, admin)).status)
    expect(statuses).to.deep.equal([200, 409, 409])
  })

  it('an anonymous caller who may update is asked for credentials', async () => {
    const path = await create()
    expect((await patchWith(path, [{ op: 'test', path: '/secret', value: 1 }], null)).status).to.equal(401)
  })

  async function answersFor(field: string, patch: readonly unknown[]): Promise<readonly (readonly unknown[])[]> {
    const answers = []
    for (const value of STATES) answers.push(refused(await patchWith(await create({ [field]: value }), patch)))
    return answers
  }

  async function create(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const body = { shown: { a: 1 }, edited: { a: 3 }, ...more }
    const { headers } = await server.ask('POST', '/files', { token: admin, body })
    return headers.get('location') ?? ''
  }

  function patchWith(path: string, patch: readonly unknown[], token: string | null = member): Promise<Answer> {
    const asked = { body: JSON.stringify(patch), headers: { 'content-type': TYPE } }
    return server.ask('PATCH', path, token === null ? asked : { ...asked, token })
  }
})

function refused({ status, body }: Answer): readonly unknown[] {
  return [status, body.code, (body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)]
}
