/** GET /openapi.json of a running server, and `sallyport openapi`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { commandRun } from '../settings.ts'
import { documentFor, operationsOf, shipped, wholeDocument } from './fixture.ts'

const NO_LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'

describe('GET /openapi.json', () => {
  let server: TestServer

  beforeEach(async () => {
    server = await startTestServer()
  })
  afterEach(() => server.stop())

  it('with credentials is what the caller has, without them what anonymous has', async () => {
    const world = shipped({ 'policies/limits.yaml': NO_LIMITS })
    const { body, headers } = await server.ask('GET', '/openapi.json', { token: await server.token('x', 'support') })
    expect(body).to.deep.equal(await documentFor(world, 'support'))
    expect(headers.get('vary')).to.include('Authorization')
    expect((await server.ask('GET', '/openapi.json')).body).to.deep.equal(await documentFor(world))
  })

  it('passes the gate like any route: 401 for bad credentials, 406, and nothing where the policy grants nothing', async () => {
    expect((await server.ask('GET', '/openapi.json', { token: 'bad' })).status).to.equal(401)
    expect((await server.ask('GET', '/openapi.json', { headers: { accept: 'text/html' } })).status).to.equal(406)
    expect((await server.ask('GET', '/openapi.json?x=1')).status).to.equal(400)
    expect((await server.ask('POST', '/openapi.json')).status).to.equal(405)
    await rewrite('policy.csv', (text) => text.replace(/^p, everyone, system\/openapi, read.*$/m, ''))
    expect((await server.ask('GET', '/openapi.json')).status).to.equal(401)
    expect((await server.ask('GET', '/openapi.json', { token: await server.token('x', 'member') })).status).to.equal(
      403,
    )
  })

  it('is made anew for another policy', async () => {
    const token = await server.token('x', 'auditor')
    expect(operationsOf((await server.ask('GET', '/openapi.json', { token })).body)).to.include('GET /api/accounts')
    await rewrite('policy.csv', (text) => text.replace(/^p, auditor, accounts.*$/m, ''))
    expect(operationsOf((await server.ask('GET', '/openapi.json', { token })).body)).to.not.include('GET /api/accounts')
  })

  async function rewrite(name: string, edit: (text: string) => string): Promise<void> {
    const file = join(server.folder, 'policies', name)
    const { revision } = server.app.policy.active
    writeFileSync(file, edit(readFileSync(file, 'utf8')))
    while (server.app.policy.active.revision === revision) await sleep(20)
  }
})

describe('sallyport openapi', () => {
  const ROOT = new URL('../../', import.meta.url).pathname

  it('prints the whole document, which says the same as the files', async () => {
    expect(JSON.parse(await printed())).to.deep.equal(await wholeDocument(shipped()))
  })

  it('--role prints what a caller of these roles has, and anonymous what nobody in particular has', async () => {
    expect(JSON.parse(await printed('--role', 'member'))).to.deep.equal(await documentFor(shipped(), 'member'))
    const both = await documentFor(shipped(), 'support', 'auditor')
    expect(JSON.parse(await printed('--role', 'support', '--role', 'auditor'))).to.deep.equal(both)
    expect(JSON.parse(await printed('--role', 'anonymous'))).to.deep.equal(await documentFor(shipped()))
  })

  it('names the roles where one is asked for that nobody declared', async () => {
    expect(await failure('--role', 'root')).to.equal(
      '`root` is not a role of roles.yaml; --role takes anonymous, member, support, auditor, admin, pdp-client',
    )
    expect(await failure('--role', 'anonymous', 'member')).to.include('alone')
  })

  async function failure(...args: readonly string[]): Promise<string> {
    return printed(...args).then(
      () => 'no failure',
      (error: Error) => error.message,
    )
  }

  async function printed(...args: readonly string[]): Promise<string> {
    const given = { policies: `${ROOT}policies`, schemas: `${ROOT}schemas` }
    const { stdout, error } = await commandRun(['openapi', ...args], given)
    if (error) throw error
    return stdout
  }
})
