/** The client and our own server: what the gate decides arrives, and a change of the policy empties the cache. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { AuthzenClient, type ClientOptions, type Question } from '../../packages/client/src/index.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { codeOf, errorOf } from './outcome.ts'

describe('the client with our own server', () => {
  let server: TestServer
  let note: string
  const opened: AuthzenClient[] = []

  before(async () => {
    server = await startTestServer({ demo: true })
    const alice = await server.token('alice', 'member')
    note = (await server.ask('GET', '/api/v1/notes', { token: alice })).body.items[0].id
  })
  after(async () => {
    for (const one of opened) one.close()
    await server.stop()
  })

  const optionsFor = (...roles: readonly string[]): ClientOptions => ({
    url: server.url,
    token: () => server.token('shop', ...roles),
    timeoutMs: 20_000,
  })
  const connect = (options: Partial<ClientOptions> = {}) => {
    const client = new AuthzenClient({ ...optionsFor('pdp-client'), ...options })
    opened.push(client)
    return client
  }
  const about = (subject: string, action: string): Question => ({
    subject: { type: 'user', id: subject },
    action: { name: action },
    resource: { type: 'notes', id: note },
  })

  it('finds the endpoints, and gets decisions with reasons and the revision', async () => {
    const client = await AuthzenClient.discover(optionsFor('pdp-client'))
    opened.push(client)
    expect((await client.evaluate(about('alice', 'read'))).decision).to.equal(true)
    const { decision, context } = await client.evaluate(about('bob', 'read'))
    expect(decision).to.equal(false)
    expect(context?.reason).to.equal('not-granted-here')
    expect(context?.revision).to.match(/^[0-9a-f]{16}$/)
  })

  it('gets for questions of one turn what it gets one by one', async () => {
    const questions = ['alice', 'bob', 'audrey', 'nobody'].flatMap((who) =>
      ['read', 'update', 'delete', 'fly'].map((action) => about(who, action)),
    )
    const alone = connect({ batch: false })
    const expected: unknown[] = []
    for (const one of questions) expected.push(await alone.evaluate(one))
    const together = connect()
    const before = (await server.decisions()).length
    expect(await Promise.all(questions.map((one) => together.evaluate(one)))).to.deep.equal(expected)
    expect((await server.decisions()).length - before).to.equal(1)
    expect(await together.evaluations(questions)).to.deep.equal(expected)
  })

  it('throws where it may not ask, and for a question that is none', async () => {
    const stranger = new AuthzenClient(optionsFor('member'))
    opened.push(stranger)
    expect(await errorOf(stranger.evaluate(about('alice', 'read')))).to.include({ code: 'refused', status: 403 })
    const nobody = new AuthzenClient({ url: server.url, timeoutMs: 20_000 })
    opened.push(nobody)
    expect(await errorOf(nobody.evaluate(about('alice', 'read')))).to.include({ code: 'refused', status: 401 })
    const client = connect()
    const incomplete = { ...about('alice', 'read'), resource: { type: 'notes' } } as Question
    expect(await codeOf(client.evaluate(incomplete))).to.equal('refused')
    const asked = [client.evaluate(incomplete), client.evaluate(about('alice', 'read'))] as const
    expect(await codeOf(asked[0])).to.equal('item-failed')
    expect((await asked[1]).decision).to.equal(true)
  })

  it('finds subjects, resources and actions, page by page', async () => {
    const client = connect()
    const { subject, resource } = about('alice', 'read')
    const actions = await client.search('action', { subject, resource })
    const names = actions.results.map(({ name }) => name)
    expect(names).to.include.members(['read', 'update', 'delete'])
    for (const name of names) expect((await client.evaluate(about('alice', name))).decision, name).to.equal(true)
    const found: string[] = []
    const who = { subject: { type: 'user' }, action: { name: 'read' }, resource }
    for await (const { id } of client.searchAll('subject', who, { page: { limit: 1 } })) found.push(id)
    expect(found).to.include('alice').and.not.include('bob')
    const notes = await client.search('resource', { subject, action: { name: 'read' }, resource: { type: 'notes' } })
    expect(notes.results).to.deep.include({ type: 'notes', id: note })
  })

  it('gets a filter of rows, as UCAST and as SQL', async () => {
    const client = connect()
    const query = { subject: { type: 'user', id: 'alice' }, action: { name: 'read' }, resource: { type: 'notes' } }
    const { kind, ucast, context } = await client.filter(query)
    expect({ kind, ucast }).to.deep.equal({
      kind: 'condition',
      ucast: { type: 'field', operator: 'eq', field: 'ownerId', value: 'alice' },
    })
    expect(context?.revision).to.match(/^[0-9a-f]{16}$/)
    const { sql } = await client.filter(query, { sql: { dialect: 'sqlite', table: 'notes' } })
    expect(sql?.parameters).to.deep.equal(['alice'])
    expect((await client.filter({ ...query, subject: { type: 'user', id: 'nobody' } })).kind).to.equal('never')
  })

  it('asks again after a change of the policy', async () => {
    const client = connect({ cache: { seconds: 60 } })
    const decided = async (who: string) => (await client.evaluate(about(who, 'read'))).decision
    expect(await decided('alice')).to.equal(true)
    const file = join(server.folder, 'policies/policy.csv')
    const rules = await readFile(file, 'utf8')
    const deny = 'p, member, notes, read, any, *, deny\n'
    await writeFile(file, rules.replace('# end of policy', `${deny}# end of policy`))
    // Another question tells the client of the change; until then the decision is the old one.
    for (let i = 0; (await decided('alice')) && i < 500; i++) {
      await client.evaluate(about(`nobody-${i}`, 'read'))
      await new Promise((next) => setTimeout(next, 20))
    }
    expect(await decided('alice')).to.equal(false)
  })
})
