/**
 * No answer to a write reveals a stored value that the caller can't read: what is stored changes no status, no field at fault and
 * no pointer. Each request is made of objects that differ in hidden fields alone.
 */
import { expect } from 'chai'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const TIME = { type: 'string', format: 'date-time', readOnly: true }

/** The caller reads `title` and `ownerId`, and writes `title`, `ownerId` and `box`; `plan` it may neither read nor write. */
const SCHEMA = {
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/boxes', methods: ['GET', 'POST'] },
      { path: '/boxes/{id}', methods: ['GET', 'PUT', 'PATCH'] },
    ],
  },
  properties: {
    id: { type: 'string', format: 'uuid', readOnly: true },
    createdAt: TIME,
    updatedAt: TIME,
    ownerId: { type: 'string', maxLength: 100 },
    title: { type: 'string', maxLength: 100 },
    box: {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      minProperties: 1,
      additionalProperties: false,
    },
    plan: { type: 'string', maxLength: 100 },
  },
  // Rules that compare what the caller writes with what it can't read.
  dependentRequired: { plan: ['title'] },
  if: { properties: { plan: { type: 'string', const: 'gold' } }, required: ['plan'] },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema names it so
  then: { properties: { title: { type: 'string', minLength: 3 } } },
  maxProperties: 7,
  additionalProperties: false,
}

const POLICY = `
p, everyone, *, options, any, *, allow
p, admin, boxes, *, any, *, allow
p, member, boxes, read, any, heading, allow
p, user:eve, boxes, update, any, *, allow
p, member, boxes, update|replace, any, lettered, allow
p, member, boxes, update|replace, owner, boxed, allow
`

const FILES = {
  'schemas/boxes.json': JSON.stringify(SCHEMA),
  'policies/policy.csv': POLICY,
  'policies/ownership.yaml': 'boxes:\n  relations:\n    owner: ownerId\n',
  'policies/views.yaml':
    'boxes:\n  heading: [title, ownerId]\n  lettered: [title, ownerId]\n  boxed: [box]\naccounts:\n  balance: [id]\n',
}

describe('what a caller can not read', () => {
  let server: TestServer
  let admin: string
  let member: string

  before(async () => {
    server = await startTestServer({ files: FILES })
    admin = await server.token('ada', 'admin')
    member = await server.token('alice', 'member')
  })
  after(() => server.stop())

  const BOXES = [undefined, { b: 2 }, { a: 1 }, { a: 1, b: 2 }]

  for (const type of ['application/json', 'application/merge-patch+json']) {
    for (const box of [{ a: null }, { a: 1 }, { b: null, a: 1 }, {}, { a: {} }]) {
      it(`is not read by a merge patch (${type}) that goes into it: ${JSON.stringify(box)} is 403`, async () => {
        const answers = await answersOf(
          BOXES.map((stored) => ({ title: 'title', box: stored })),
          'PATCH',
          { box },
          type,
        )
        expect(answers).to.deep.equal(BOXES.map(() => [403, 'field-forbidden', ['/box forbidden']]))
      })
    }
  }

  it('is replaced whole by a merge patch, whatever is stored: by a scalar, by an array, by nothing', async () => {
    for (const [box, answer] of [
      ['text', [400, 'invalid-body', ['/box type']]],
      [[1], [400, 'invalid-body', ['/box type']]],
      [null, [200, undefined, []]],
    ] as const) {
      const answers = await answersOf(
        BOXES.map((stored) => ({ title: 'title', box: stored })),
        'PATCH',
        { box },
      )
      expect(answers, JSON.stringify(box)).to.deep.equal(BOXES.map(() => answer))
    }
  })

  const PLANS = [undefined, 'gold', 'silver']

  it('is not told by a rule of the whole object when a field is refused', async () => {
    for (const method of ['PATCH', 'PUT']) {
      for (const body of [
        { plan: 'gold', title: 't' },
        { plan: null, title: null },
        { plan: 'guess' },
        { createdAt: 7, title: 't' },
      ]) {
        const answers = await answersOf(
          PLANS.map((plan) => ({ title: 'title', plan })),
          method,
          body,
        )
        const refused = 'plan' in body ? '/plan forbidden' : '/createdAt forbidden'
        expect(answers, JSON.stringify(body)).to.deep.equal(PLANS.map(() => [403, 'field-forbidden', [refused]]))
      }
    }
  })

  it('is not told by what PUT removes, where the caller would lose the right to write it', async () => {
    const body = { title: 'title', ownerId: 'bob' }
    const answers = await answersOf(
      BOXES.map((box) => ({ title: 'title', box })),
      'PUT',
      body,
    )
    expect(answers).to.deep.equal(BOXES.map(() => [403, 'field-forbidden', ['/box forbidden']]))
  })

  it('is not told by the tag, which stays where nothing changes: a field that is written unread counts as changed', async () => {
    for (const [method, box] of [
      ['PATCH', 'json-patch'],
      ['PATCH', null],
      ['PUT', { a: 1 }],
      ['PUT', undefined],
    ] as const) {
      for (const stored of BOXES) {
        const path = await create({ ownerId: 'alice', title: 'title', box: stored })
        const before = await server.ask('GET', path, { token: member })
        const asked =
          box === 'json-patch'
            ? {
                body: JSON.stringify([{ op: 'add', path: '/box', value: { a: 1 } }]),
                headers: { 'content-type': 'application/json-patch+json' },
              }
            : { body: { title: 'title', ...(box === undefined ? {} : { box }) } }
        const after = await server.ask(method, path, { token: member, ...asked })
        expect(after.status, `${method} ${JSON.stringify(box)}`).to.equal(200)
        expect(after.headers.get('etag')).not.to.equal(before.headers.get('etag'))
      }
    }
    const path = await create({ ownerId: 'alice', title: 'title' })
    const before = await server.ask('GET', path, { token: member })
    const same = await server.ask('PATCH', path, { token: member, body: { title: 'title' } })
    expect(same.headers.get('etag'), 'nothing unread (negative control)').to.equal(before.headers.get('etag'))
  })

  it("is not guessed by way of the server's fields, though the policy grants the caller to write everything", async () => {
    const blind = await server.token('eve', 'member')
    const path = await create({ title: 'title', ownerId: 'eve' })
    const { body } = await server.ask('GET', path, { token: admin })
    for (const createdAt of [body.createdAt, '2020-01-01T00:00:00.000Z']) {
      const answer = await server.ask('PATCH', path, { token: blind, body: { createdAt } })
      expect(told(answer)).to.deep.equal([403, 'field-forbidden', ['/createdAt forbidden']])
    }
  })

  it('tells who may read everything what the others are not told (negative control)', async () => {
    const statuses = []
    for (const box of BOXES) {
      const path = await create({ title: 'title', box })
      statuses.push((await server.ask('PATCH', path, { token: admin, body: { box: { a: null } } })).status)
    }
    expect(statuses).to.deep.equal([400, 200, 400, 200])
    const short = await create({ title: 'title', plan: 'gold' })
    expect((await server.ask('PATCH', short, { token: admin, body: { title: 't' } })).status).to.equal(400)
  })

  it('a field that the schema does not know is 400, after the refused ones', async () => {
    const path = await create({ title: 'title' })
    const unknown = await server.ask('PATCH', path, { token: member, body: { nope: 1, title: 7 } })
    expect(told(unknown)).to.deep.equal([400, 'invalid-body', ['/nope additionalProperties', '/title type']])
    const both = await server.ask('PATCH', path, { token: member, body: { nope: 1, plan: 'gold' } })
    expect(told(both)).to.deep.equal([403, 'field-forbidden', ['/plan forbidden']])
  })

  it('leaves a refused request short in the decision log, however long its values are', async () => {
    const path = await create({ title: 'title' })
    const body = { plan: 'x', ownerId: 'o'.repeat(90_000), ['n'.repeat(5000)]: 1 }
    expect((await server.ask('PATCH', path, { token: member, body })).status).to.equal(403)
    const record = (await server.decisions()).findLast(({ problem }) => problem === 'field-forbidden')
    expect(record).to.deep.include({ fieldsRefused: ['plan'] })
    expect(JSON.stringify(record).length).to.be.below(2000)
  })

  async function answersOf(
    stored: readonly Readonly<Record<string, unknown>>[],
    method: string,
    body: Readonly<Record<string, unknown>>,
    type = 'application/json',
  ): Promise<readonly unknown[]> {
    const answers = []
    for (const one of stored) {
      const headers = { 'content-type': type }
      const path = await create({ ownerId: 'alice', ...one })
      answers.push(told(await server.ask(method, path, { token: member, body: JSON.stringify(body), headers })))
    }
    return answers
  }

  async function create(body: Readonly<Record<string, unknown>>): Promise<string> {
    const { status, headers } = await server.ask('POST', '/boxes', { token: admin, body })
    expect(status).to.equal(201)
    return headers.get('location') ?? ''
  }
})

function told({ status, body }: Answer): unknown {
  const errors: readonly { readonly pointer: string; readonly code: string }[] = body?.errors ?? []
  return [status, body?.code, errors.map(({ pointer, code }) => `${pointer} ${code}`)]
}
