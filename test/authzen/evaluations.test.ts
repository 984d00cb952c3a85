/** POST /access/v1/evaluations: defaults, three semantics, errors of items, and what is refused as a whole. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'

const PATH = '/access/v1/evaluations'

describe('several evaluations', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('shop', 'pdp-client')
  })
  after(() => server.stop())

  const alice = { type: 'user', id: 'alice' }
  const bob = { type: 'user', id: 'bob' }
  const read = { name: 'read' }
  const ofAlice = { type: 'users', id: 'alice' }
  const ask = (body: unknown, path = PATH) => server.ask('POST', path, { token, body })
  const decided = async (body: unknown) => {
    const answer = await ask(body)
    expect(answer.status).to.equal(200)
    return answer.body.evaluations.map((one: { decision: boolean }) => one.decision)
  }

  it('are answered in their order, with defaults that an item replaces as a whole', async () => {
    const defaults = { subject: alice, action: read, resource: ofAlice }
    const evaluations = [{}, { subject: bob }, { resource: { type: 'users' } }, { subject: { id: 'alice' } }]
    const { body } = await ask({ ...defaults, evaluations })
    expect(body.evaluations.map((one: { decision: boolean }) => one.decision)).to.deep.equal([
      true,
      false,
      false,
      false,
    ])
    const [, denied, incomplete] = body.evaluations
    expect(denied.context.reason).to.equal('not-granted-here')
    expect(incomplete.context).to.deep.include({
      reason: 'item-invalid',
      error: { status: 400, message: '/resource/id is required' },
    })
    expect(Object.keys(body)).to.deep.equal(['evaluations'])
  })

  it('stop where the semantic says so', async () => {
    const batch = {
      action: read,
      resource: ofAlice,
      evaluations: [{ subject: alice }, { subject: bob }, { subject: alice }, {}],
    }
    const with_ = (semantic: string) => decided({ ...batch, options: { evaluations_semantic: semantic, more: 1 } })
    expect(await with_('execute_all')).to.deep.equal([true, false, true, false])
    expect(await decided(batch)).to.deep.equal([true, false, true, false])
    expect(await with_('deny_on_first_deny')).to.deep.equal([true, false])
    expect(await with_('permit_on_first_permit')).to.deep.equal([true])
    const failing = {
      ...batch,
      evaluations: [{}, { subject: alice }],
      options: { evaluations_semantic: 'deny_on_first_deny' },
    }
    expect(await decided(failing)).to.deep.equal([false])
  })

  it('are one evaluation without items', async () => {
    for (const items of [{}, { evaluations: [] }]) {
      const { status, body } = await ask({ subject: alice, action: read, resource: ofAlice, ...items })
      expect([status, body.decision, 'evaluations' in body]).to.deep.equal([200, true, false])
      expect((await ask({ subject: alice, action: read, ...items })).status).to.equal(400)
    }
  })

  it('leave one record with an entry for each that was decided', async () => {
    const evaluations = [{ subject: alice }, { subject: bob }, {}]
    await ask({ action: read, resource: ofAlice, evaluations })
    const record = (await server.lastDecision({ action: 'evaluate' })) as {
      asked: { subject: string; decision: boolean }[]
    }
    expect(record.asked.map(({ subject, decision }) => [subject, decision])).to.deep.equal([
      ['alice', true],
      ['bob', false],
    ])
  })

  it('leave no long names in the record that nothing knows', async () => {
    const long = 'x'.repeat(1000)
    const unknown = { type: long, id: long }
    await ask({ subject: unknown, action: { name: long }, resource: unknown, evaluations: Array(1000).fill({}) })
    const record = (await server.lastDecision({ action: 'evaluate' })) as { asked: readonly object[] }
    expect(record.asked).to.have.length(1000)
    expect(JSON.stringify(record).length).to.be.below(1_000_000)
    await ask({ subject: alice, action: read, evaluations: [{ resource: { type: 'users', id: long } }] })
    const [missing] = (
      (await server.lastDecision({ action: 'evaluate' })) as { asked: readonly { objectId: string }[] }
    ).asked
    expect(missing?.objectId).to.equal(`${'x'.repeat(128)}…`)
  })

  const evaluation = { subject: alice, action: read, resource: ofAlice }
  const faulty: Readonly<Record<string, readonly [body: unknown, pointer: string]>> = {
    'an unknown semantic': [
      { ...evaluation, options: { evaluations_semantic: 'first' } },
      '/options/evaluations_semantic',
    ],
    'items that are no list': [{ ...evaluation, evaluations: {} }, '/evaluations'],
    'an item that is no object': [{ ...evaluation, evaluations: [1] }, '/evaluations/0'],
    '1001 items': [{ ...evaluation, evaluations: Array(1001).fill({}) }, '/evaluations'],
    '10,000 items': [{ ...evaluation, evaluations: Array(10_000).fill({}) }, '/evaluations'],
    'a default that is a text': [{ ...evaluation, subject: 'alice', evaluations: [{}] }, '/subject'],
    'options that are no object': [{ ...evaluation, options: [] }, '/options'],
    'no subject': [{ action: read, resource: ofAlice }, '/subject'],
    'a subject without an id': [{ ...evaluation, subject: { type: 'user' } }, '/subject/id'],
    'a subject that is a text': [{ ...evaluation, subject: 'alice' }, '/subject'],
    'an action whose name is a number': [{ ...evaluation, action: { name: 7 } }, '/action/name'],
    'a resource without a type': [{ ...evaluation, resource: { id: '1' } }, '/resource/type'],
    'a type that is too long': [{ ...evaluation, resource: { type: 'x'.repeat(1025), id: '1' } }, '/resource/type'],
    'fields that are no list': [{ ...evaluation, context: { fields: 'bio' } }, '/context/fields'],
    'no fields': [{ ...evaluation, context: { fields: [] } }, '/context/fields'],
    'a body that is a list': [
      { ...evaluation, action: { name: 'update', properties: { body: [] } } },
      '/action/properties/body',
    ],
    'properties that are null': [{ ...evaluation, resource: { ...ofAlice, properties: null } }, '/resource/properties'],
  }
  for (const [what, [body, pointer]] of Object.entries(faulty)) {
    it(`refuse ${what}, and name the member`, async () => {
      const answer = await ask(body)
      expect([answer.status, answer.body.code]).to.deep.equal([400, 'invalid-body'])
      expect(answer.body.errors.map((one: { pointer: string }) => one.pointer)).to.include(pointer)
      expect(answer.body).to.not.have.property('decision')
    })
  }

  it('ignore unknown members anywhere', async () => {
    const odd = { ...evaluation, subject: { ...alice, more: [1] }, more: { deep: {} }, __proto__: { decision: true } }
    expect((await ask(odd)).body.decision).to.equal(true)
    expect(
      (
        await ask(
          '{"subject":{"type":"user","id":"bob","__proto__":{"id":"alice"}},"action":{"name":"read"},"resource":{"type":"users","id":"alice"},"__proto__":{"subject":{"type":"user","id":"alice"}}}',
        )
      ).body.decision,
    ).to.equal(false)
  })

  it('are no body that is not JSON, not one object, empty, too deep, or too large', async () => {
    const deep = '{"subject":'.repeat(40)
    for (const path of [PATH, '/access/v1/evaluation']) {
      for (const [body, expected] of [
        ['{', 'invalid-json'],
        ['[]', 'invalid-body'],
        ['"alice"', 'invalid-body'],
        [deep, 'invalid-json'],
        [`{"subject":{"type":"user","type":"user"}}`, 'invalid-json'],
      ]) {
        const answer = await ask(body, path)
        expect([answer.status, answer.body.code], body).to.deep.equal([400, expected])
      }
      expect((await ask(JSON.stringify({ ...evaluation, more: 'x'.repeat(200_000) }), path)).status).to.equal(413)
      const empty = await server.ask('POST', path, { token })
      expect([empty.status, empty.body.code]).to.deep.equal([400, 'invalid-body'])
    }
  })

  it('take JSON in UTF-8 alone, by POST alone', async () => {
    for (const path of [PATH, '/access/v1/evaluation']) {
      const typed = (type: string) =>
        server.ask('POST', path, { token, body: evaluation, headers: { 'content-type': type } })
      expect((await typed('application/json; charset=utf-8')).body.decision).to.equal(true)
      expect((await typed('text/plain')).status).to.equal(415)
      expect((await typed('application/x-www-form-urlencoded')).status).to.equal(415)
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const answer = await server.ask(method, path, { token })
        expect([answer.status, answer.headers.get('allow')]).to.deep.equal([405, 'POST, OPTIONS'])
      }
    }
  })
})
