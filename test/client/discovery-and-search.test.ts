/** The client finds the endpoints by the metadata of the server that it means, and follows the pages of a search. */
import { expect } from 'chai'
import { defaultEndpoints, metadataUrl } from '../../packages/client/src/discovery.ts'
import { AuthzenClient } from '../../packages/client/src/index.ts'
import { type AuthzenServer, startAuthzenServer } from './authzen-server.ts'
import { codeOf, errorOf } from './outcome.ts'

const QUESTION = {
  subject: { type: 'user', id: 'alice' },
  action: { name: 'read' },
  resource: { type: 'record', id: 'record-1' },
}

describe('discovery', () => {
  let server: AuthzenServer
  const opened: AuthzenClient[] = []
  const discover = async (url = server.url) => {
    const client = await AuthzenClient.discover({ url, timeoutMs: 20_000 })
    opened.push(client)
    return client
  }
  beforeEach(async () => {
    server = await startAuthzenServer()
  })
  afterEach(async () => {
    for (const one of opened.splice(0)) one.close()
    await server.stop()
  })

  it('asks at the endpoints that the metadata name', async () => {
    server.metadata.access_evaluation_endpoint = `${server.url}/elsewhere`
    server.instead = ({ path }, response) => {
      if (path !== '/elsewhere') return false
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"decision":true}')
      return true
    }
    const client = await discover()
    expect(await client.evaluate(QUESTION)).to.deep.equal({ decision: true })
    expect(server.received.map(({ path }) => path)).to.deep.equal(['/.well-known/authzen-configuration', '/elsewhere'])
  })

  it('says which endpoints a server does not offer, and asks no others', async () => {
    server.metadata = {
      policy_decision_point: server.url,
      access_evaluation_endpoint: `${server.url}/access/v1/evaluation`,
    }
    const client = await discover(`${server.url}/`)
    expect(await Promise.all([client.evaluate(QUESTION), client.evaluate(QUESTION)])).to.have.length(2)
    expect(await codeOf(client.evaluations([QUESTION]))).to.equal('not-offered')
    expect(await codeOf(client.search('subject', QUESTION))).to.equal('not-offered')
    expect(server.received).to.have.length(3)
  })

  it('refuses the metadata of another server, and addresses that are not encrypted', async () => {
    const wrong: readonly (readonly [member: string, value: unknown])[] = [
      ['policy_decision_point', 'https://pdp.example.com'],
      ['policy_decision_point', `${server.url}/tenant`],
      ['policy_decision_point', undefined],
      ['policy_decision_point', 7],
      ['access_evaluation_endpoint', 'http://pdp.example.com/access/v1/evaluation'],
      ['access_evaluation_endpoint', '/access/v1/evaluation'],
      ['search_subject_endpoint', 7],
      ['access_evaluation_endpoint', 'https://elsewhere.example.com/access/v1/evaluation'],
      ['search_action_endpoint', server.url.replace(/:\d+$/, ':1')],
      ['search_action_endpoint', server.url.replace('127.0.0.1', 'localhost')],
    ]
    const { metadata } = server
    for (const [member, value] of wrong) {
      server.metadata = { ...metadata, [member]: value }
      expect(await codeOf(discover()), `${member}: ${value}`).to.equal('invalid-answer')
    }
    server.metadata = { ...metadata, policy_decision_point: 'https://pdp.example.com' }
    expect((await errorOf(discover())).message).to.contain('`https://pdp.example.com`')
  })

  it('asks for the metadata between the host and the path', () => {
    expect(metadataUrl(new URL('https://pdp.example.com')).href).to.equal(
      'https://pdp.example.com/.well-known/authzen-configuration',
    )
    expect(metadataUrl(new URL('https://pdp.example.com/acme/')).href).to.equal(
      'https://pdp.example.com/.well-known/authzen-configuration/acme',
    )
    expect(defaultEndpoints(new URL('https://pdp.example.com/acme')).evaluation?.href).to.equal(
      'https://pdp.example.com/acme/access/v1/evaluation',
    )
  })
})

describe('search', () => {
  let server: AuthzenServer
  let client: AuthzenClient
  beforeEach(async () => {
    server = await startAuthzenServer()
    client = new AuthzenClient({ url: server.url, timeoutMs: 20_000 })
  })
  afterEach(async () => {
    client.close()
    await server.stop()
  })

  it('finds subjects, resources and actions', async () => {
    const { results } = await client.search('subject', { ...QUESTION, subject: { type: 'user' } })
    expect(results.map(({ id }) => id)).to.deep.equal(['alice', 'bob'])
    const resources = await client.search('resource', { ...QUESTION, resource: { type: 'record' } })
    expect(resources).to.deep.equal({
      results: [{ type: 'record', id: 'record-1' }],
      nextToken: undefined,
      context: undefined,
    })
    const { subject, resource } = QUESTION
    const actions = await client.search('action', { subject, resource })
    expect(actions.results).to.deep.equal([{ name: 'read' }, { name: 'write' }])
    expect(server.received.map(({ path }) => path)).to.deep.equal(
      ['subject', 'resource', 'action'].map((kind) => `/access/v1/search/${kind}`),
    )
    expect(server.received[2]?.body).to.deep.equal({ subject, resource })
  })

  it('gives pages, and follows them', async () => {
    const query = { ...QUESTION, subject: { type: 'user' } }
    const page = await client.search('subject', query, { page: { limit: 1 } })
    expect(page.results).to.have.length(1)
    expect(page.nextToken).to.equal('1')
    const found: string[] = []
    for await (const { id } of client.searchAll('subject', query, { page: { limit: 1 } })) found.push(id)
    expect(found).to.deep.equal(['alice', 'bob'])
    expect(server.received.map(({ body }) => body.page)).to.deep.equal([
      { limit: 1 },
      { limit: 1 },
      { limit: 1, token: '1' },
    ])
  })

  it('throws for results of another kind, and for pages that never end', async () => {
    const query = { ...QUESTION, subject: { type: 'user' } }
    const wrong = [
      { results: [{ type: 'admin', id: 'eve' }] },
      { results: [{ type: 'user' }] },
      { results: {} },
      {},
      { results: [], page: { next_token: 1 } },
      { results: [], page: 'next' },
    ]
    let body: unknown
    server.instead = (_received, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
      return true
    }
    for (body of wrong) {
      expect(await codeOf(client.search('subject', query)), JSON.stringify(body)).to.equal('invalid-answer')
    }
    body = { results: [], page: { next_token: 'again' } }
    const all = async () => {
      for await (const _one of client.searchAll('subject', query));
    }
    expect(await codeOf(all())).to.equal('invalid-answer')
  })
})
