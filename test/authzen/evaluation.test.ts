/** Other services ask the policy: one evaluation (AuthZEN Authorization API 1.0, docs/authzen.md). */
import { expect } from 'chai'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const PATH = '/access/v1/evaluation'

describe('an evaluation', () => {
  let server: TestServer
  let note: string
  let draft: string
  let placed: string

  before(async () => {
    server = await startTestServer({ demo: true })
    const alice = await server.token('alice', 'member')
    const ofAlice = async (path: string) => (await server.ask('GET', path, { token: alice })).body.items
    const orders = await ofAlice('/api/orders')
    const inState = (status: string) => orders.find((order: { status: string }) => order.status === status).id
    note = (await ofAlice('/api/v1/notes'))[0].id
    draft = inState('draft')
    placed = inState('placed')
  })
  after(() => server.stop())

  const ask = async (body: unknown, roles: readonly string[] = ['pdp-client']): Promise<Answer> =>
    server.ask('POST', PATH, { token: await server.token('shop', ...roles), body })

  const about = (subject: string, action: string, type: string, id: string, more: object = {}) => ({
    subject: { type: 'user', id: subject },
    action: { name: action },
    resource: { type, id },
    ...more,
  })

  const decided = async (...asked: Parameters<typeof about>) => {
    const { status, body } = await ask(about(...asked))
    expect(status).to.equal(200)
    return body.context.reason ?? body.decision
  }

  it('is true where the policy grants the whole action on the stored object', async () => {
    expect(await decided('alice', 'read', 'notes', note)).to.equal(true)
    expect(await decided('alice', 'update', 'notes', note)).to.equal(true)
    expect(await decided('alice', 'delete', 'notes', note)).to.equal(true)
    expect(await decided('audrey', 'list', 'notes', note)).to.equal(true)
    expect(await decided('alice', 'create', 'notes', 'new')).to.equal(true)
  })

  it('is false with a stable code elsewhere', async () => {
    expect(await decided('bob', 'read', 'notes', note)).to.equal('not-granted-here')
    expect(await decided('audrey', 'delete', 'notes', note)).to.equal('not-granted')
    expect(await decided('alice', 'read', 'notes', 'nothing')).to.equal('object-missing')
    expect(await decided('alice', 'fly', 'notes', note)).to.equal('action-unknown')
    expect(await decided('alice', 'read', 'planes', note)).to.equal('resource-unknown')
    expect(await decided('alice', 'evaluate', 'system/access', note)).to.equal('resource-unknown')
    expect(await decided('nobody', 'read', 'notes', note)).to.equal('subject-unknown')
    const robot = { subject: { type: 'robot', id: 'alice' } }
    expect(await decided('alice', 'read', 'notes', note, robot)).to.equal('subject-type')
  })

  it('takes roles from the directory, never from the request', async () => {
    const asAdmin = { subject: { type: 'user', id: 'bob', properties: { roles: ['admin'], role: 'admin' } } }
    expect(await decided('bob', 'read', 'notes', note, asAdmin)).to.equal('not-granted-here')
  })

  it('compares the stored object, never the properties of the request', async () => {
    const asOwner = { resource: { type: 'notes', id: note, properties: { ownerId: 'bob' } } }
    expect(await decided('bob', 'read', 'notes', note, asOwner)).to.equal('not-granted-here')
  })

  it('is false for a partial grant, and true for fields that are all granted', async () => {
    expect(await decided('sam', 'read', 'users', 'alice')).to.equal('partly-granted')
    const fields = (...names: readonly string[]) => ({ context: { fields: names } })
    expect(await decided('sam', 'read', 'users', 'alice', fields('email', 'displayName'))).to.equal(true)
    expect(await decided('sam', 'read', 'users', 'alice', fields('email', 'roles'))).to.equal('fields-refused')
    expect(await decided('sam', 'read', 'users', 'alice', fields('email', 'shoeSize'))).to.equal('fields-refused')
    const named = { action: { name: 'update', properties: { fields: ['bio'] } } }
    expect(await decided('alice', 'update', 'users', 'alice', named)).to.equal(true)
    expect(await decided('alice', 'update', 'users', 'alice', fields('id'))).to.equal('fields-refused')
  })

  it('weighs a change as its route does, and needs the body where the result decides', async () => {
    const body = (name: string, change: object) => ({ action: { name, properties: { body: change } } })
    expect(await decided('sam', 'update', 'orders', placed, { context: { fields: ['status'] } })).to.equal(
      'body-needed',
    )
    expect(await decided('sam', 'update', 'orders', placed, body('update', { status: 'shipped' }))).to.equal(true)
    expect(await decided('sam', 'update', 'orders', placed, body('update', { status: 'draft' }))).to.equal(
      'not-granted-here',
    )
    expect(await decided('alice', 'update', 'orders', draft, body('update', { note: 7 }))).to.equal('body-invalid')
    const note = { currency: 'EUR', items: [{ sku: 'A', quantity: 1, unitPrice: 1 }] }
    expect(await decided('alice', 'replace', 'orders', draft, body('replace', note))).to.equal(true)
  })

  it('weighs a new object by its properties', async () => {
    const created = (properties: object) => ({ resource: { type: 'notes', id: '', properties } })
    expect(await decided('alice', 'create', 'notes', '', created({ title: 't' }))).to.equal(true)
    expect(await decided('alice', 'create', 'notes', '', created({ title: 't', ownerId: 'bob' }))).to.equal(
      'not-granted-here',
    )
    expect(await decided('alice', 'create', 'notes', '', created({ title: 1 }))).to.equal('body-invalid')
    expect(await decided('alice', 'create', 'accounts', '')).to.equal('not-granted')
  })

  it('names the policy, and tells strangers no rule', async () => {
    const { body, headers } = await ask(about('bob', 'read', 'notes', note))
    expect(body).to.deep.equal({
      decision: false,
      context: { reason: 'not-granted-here', revision: headers.get('policy-revision') },
    })
  })

  it('is for services that the policy grants it', async () => {
    const asked = about('alice', 'read', 'notes', note)
    expect((await ask(asked, ['member'])).status).to.equal(403)
    expect((await ask(asked, [])).status).to.equal(403)
    const nobody = await server.ask('POST', PATH, { body: asked })
    expect([nobody.status, nobody.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer realm="sallyport"'])
    const forged = await server.ask('POST', PATH, { body: asked, token: 'forged' })
    expect([forged.status, forged.headers.has('www-authenticate')]).to.deep.equal([401, true])
  })

  it('leaves a record whose question masks.yaml masks, too', async () => {
    const masks = 'fields: [subject]\nfacts: { notes: [ownerId] }\n'
    const masked = await startTestServer({ demo: true, files: { 'policies/masks.yaml': masks } })
    const token = await masked.token('shop', 'pdp-client')
    const listed = await masked.ask('GET', '/api/v1/notes', { token: await masked.token('alice', 'member') })
    await masked.ask('POST', PATH, { token, body: about('alice', 'read', 'notes', listed.body.items[0].id) })
    const record = await masked.lastDecision({ action: 'evaluate' })
    expect(record?.subject).to.equal('***')
    expect(JSON.stringify(record)).to.include('"decision":true')
    expect(JSON.stringify(record)).to.not.include('alice')
    await masked.stop()
  })

  it('leaves a record: the service is its caller, and the question has its evidence', async () => {
    await ask(about('alice', 'read', 'notes', note))
    const record = (await server.lastDecision({ action: 'evaluate' })) as Record<string, unknown>
    expect(record).to.deep.include({ subject: 'shop', roles: ['pdp-client'], resource: 'system/access', status: 200 })
    const [asked] = record.asked as Record<string, unknown>[]
    expect(asked).to.deep.include({
      subject: 'alice',
      roles: ['member'],
      resource: 'notes',
      objectId: note,
      action: 'read',
      decision: true,
      relations: ['owner'],
    })
    expect(asked?.rules).to.have.length(1)
    expect(asked?.facts).to.have.nested.property('object.ownerId', 'alice')
  })
})
