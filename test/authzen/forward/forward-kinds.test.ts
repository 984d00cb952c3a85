/** Forward auth under limits, conditions and sunsets, and with a gateway that its address proves. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { tokensOf } from '../../request/callers.ts'
import { type AskedServer, ask, expectRefused, PROFILES, type ProfileName, startAskedServer, told } from './asking.ts'

describe('forward auth of limited callers', () => {
  it("counts the client, not the gateway, and by the resource of the client's request", async () => {
    const limits = [
      'body: 100kb',
      'page: { default: 50, max: 200 }',
      'limits:',
      '  lists: { per: subject, allow: 2, window: 60s, match: { resource: orders, action: list } }',
    ].join('\n')
    const server = await startAskedServer({ files: { 'policies/limits.yaml': `${limits}\n` } })
    try {
      const { sam, ada } = await tokensOf(server)
      const statusOf = async (token: string, profile: ProfileName = 'caddy') =>
        (await ask(server.url, { profile, key: server.key, token })).status
      expect([await statusOf(sam), await statusOf(sam), await statusOf(sam)]).to.deep.equal([204, 204, 429])
      expect([await statusOf(sam, 'nginx'), await statusOf(ada)]).to.deep.equal([403, 204])
      const own = await server.ask('GET', '/api/orders', { token: sam })
      expect(own.status).to.equal(429)
    } finally {
      await server.stop()
    }
  })

  it('counts a gateway without proof as a bad credential', async () => {
    const limits =
      'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n' +
      '  bad: { per: address, allow: 2, window: 60s, match: { credentials: rejected } }\n'
    const server = await startAskedServer({ files: { 'policies/limits.yaml': limits } })
    try {
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push((await ask(server.url, { key: 'sp_wrong' })).status)
      expect(statuses).to.deep.equal([403, 403, 429, 429])
    } finally {
      await server.stop()
    }
  })
})

describe('forward auth by conditions and by the age of routes', () => {
  it('asks the client to sign in again where the policy wants that, and ends with the route', async () => {
    const notes = JSON.parse(await readFile(new URL('../../../schemas/notes.json', import.meta.url), 'utf8'))
    for (const route of notes['x-resource'].routes) if (route.path === '/api/v1/notes') route.sunset = '2020-01-01'
    const files = {
      'policies/conditions.yaml': 'fresh: { signedIn: { within: 15m } }\n',
      'schemas/notes.json': JSON.stringify(notes),
    }
    const server = await startAskedServer({ files }, 'p, everyone, accounts, create, fresh, *, allow')
    try {
      const token = await server.token('zoe')
      for (const profile of PROFILES) {
        const asking = { profile, key: server.key, token, method: 'POST' }
        const again = await ask(server.url, { ...asking, uri: '/api/accounts' })
        expectRefused(again, 401, 'step-up-required')
        expect(again.headers['www-authenticate']).to.contain('insufficient_user_authentication')
        expectRefused(await ask(server.url, { ...asking, uri: '/api/v1/notes' }), told(profile, 410), 'gone')
      }
    } finally {
      await server.stop()
    }
  })
})

describe('a gateway that its socket address proves', () => {
  const CALLERS = 'gateway:\n  addresses: [127.0.0.0/8]\n  profiles: [nginx]\n'
  let server: AskedServer
  let token: string

  before(async () => {
    server = await startAskedServer({ files: { 'policies/callers.yaml': CALLERS }, env: { TRUST_PROXY: '127.0.0.1' } })
    token = await server.token('sam', 'support')
  })

  after(() => server.stop())

  it('needs no key', async () => {
    const { status, headers } = await ask(server.url, { profile: 'nginx', token })
    expect([status, headers['x-sallyport-subject']]).to.deep.equal([204, 'sam'])
    const record = await server.lastDecision({ subject: 'sam' })
    expect(record?.forwarded).to.deep.equal({ profile: 'nginx', gateway: 'gateway:gateway' })
  })

  it('may use only its profiles', async () => {
    expectRefused(await ask(server.url, { profile: 'caddy', token }), 403, 'gateway-refused')
    expectRefused(await ask(server.url, { profile: 'caddy', token, key: server.key }), 403, 'gateway-refused')
  })

  it('is refused if it passes on a key that is wrong', async () => {
    expectRefused(await ask(server.url, { profile: 'nginx', token, key: 'sp_wrong' }), 403, 'gateway-refused')
  })

  it('is known by the socket, whatever X-Forwarded-For says; the client is who it says', async () => {
    const more = ['X-Forwarded-For: 10.1.2.3']
    expect((await ask(server.url, { profile: 'nginx', token, more })).status).to.equal(204)
    expect((await server.lastDecision({ subject: 'sam' }))?.address).to.equal('10.1.2.3')
    await writeFile(join(server.folder, 'policies/callers.yaml'), CALLERS.replace('127.0.0.0/8', '10.0.0.0/8'))
    await server.app.policy.reload()
    expectRefused(await ask(server.url, { profile: 'nginx', token, more }), 403, 'gateway-refused')
  })
})
