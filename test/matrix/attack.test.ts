/** The attacks: on the shipped policy each reaches what it says; a server that is laxer, or stricter, is found out. */

import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { attackAll } from '../../src/tools/matrix/attack/attack-all.ts'
import { ATTACK_FORMATS, talliesOf } from '../../src/tools/matrix/attack/attack-report.ts'
import { isGreen } from '../../src/tools/matrix/run/result.ts'
import { openTrialPool } from '../../src/tools/matrix/target/trial-target.ts'
import { withRules } from '../policy-text.ts'
import { soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { HERE } from './told.ts'

const { text: toText, json: toJson } = ATTACK_FORMATS

const ROOT = new URL('../..', import.meta.url).pathname
const shipped = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8')
const schema = JSON.parse(readFileSync(join(ROOT, 'docs/schemas/matrix-attack.schema.json'), 'utf8'))
const fitsSchema = new Ajv2020({ allErrors: true, strict: false }).compile(schema)

describe('sallyport matrix attack', () => {
  it('reaches what the shipped policy allows, and no more, in every way and as every caller', async () => {
    const run = await attackOn(await startTestServer(), [soak('orders', 'notes')])
    expect(toText(run)).to.match(/^\d+ attacks reached what the policy allows, and no more \(in this process/m)
    expect(isGreen(run)).to.equal(true)
    expect(run.results.length).to.be.greaterThan(soak(300, 200))
    const vectors = new Set(run.results.map(({ attack }) => attack.vector))
    expect([...vectors].sort()).to.deep.equal([
      'id in body',
      'id in path',
      'id in query',
      'owner in body',
      'owner in query',
      'relation missing',
    ])
    expect(new Set(talliesOf(run.results).map(({ attacker }) => attacker)).size).to.equal(6)
    fitsSchema(JSON.parse(toJson(run)))
    expect(fitsSchema.errors).to.equal(null)
  })

  it('a server whose ownership check is lost on one action is found out', async () => {
    const [name, path, attacked] = soak(
      ['orders', '/api/orders/{id}', 'draft+open+owner'],
      ['notes', '/api/v1/notes/{id}', 'owner'],
    )
    const lax = withRules(shipped, `p, member, ${name}, list|read|create, any, *, allow`)
    const run = await attackOn(await startTestServer({ files: { 'policies/policy.csv': lax } }), [name])
    const found = run.results.filter(({ outcome }) => outcome === 'failed')
    expect(new Set(found.map(({ attack }) => attack.vector))).to.deep.equal(
      new Set(['id in path', 'owner in body', 'owner in query', 'relation missing']),
    )
    expect(toText(run)).to.contain(
      `member makes a request of member: GET ${path} (${attacked} to the victim), id in path`,
    )
    expect(toText(run)).to.contain('the policy says 403, but the server answered 200')
    expect(isGreen(run)).to.equal(false)
  })

  it('a server that shows a field too many is found out', async () => {
    const wide =
      'users:\n  public: [id, displayName, bio]\n  contact: [id, displayName, email, department]\n  personal: [displayName, email, bio]\norders:\n  progress: [status]\naccounts:\n  balance: [id, currency, balance]\nsystem/health:\n  brief: [status]\n'
    const run = await attackOn(await startTestServer({ files: { 'policies/views.yaml': wide } }), ['users'])
    expect(toText(run)).to.contain('the answer shows `department`, which the policy does not show')
  })

  it('a server that forgets who asks on one method is found out', async () => {
    const server = await startTestServer()
    const admin = await server.token('mallory', 'admin')
    const proxy = await startProxy(server.url, (request) => (request.method === 'DELETE' ? admin : undefined))
    const run = await attackOn(server, ['notes'], proxy.url)
    proxy.stop()
    const methods = new Set(
      run.results.flatMap(({ attack, outcome }) => (outcome === 'failed' ? [attack.routeMethod.method] : [])),
    )
    expect([...methods]).to.deep.equal(['DELETE'])
  })
})

/** Attacks a server with the shipped policy in mind, and stops it; objects go straight into its store. */
async function attackOn(server: TestServer, resources: readonly string[] = [], url = server.url) {
  const folders = { policies: join(ROOT, 'policies'), schemas: join(ROOT, 'schemas') }
  const token = (subject: string, roles: readonly string[]) => server.token(subject, ...roles)
  const stop = () => server.stop()
  return attackAll({
    ...HERE,
    ...folders,
    resources,
    openTargets: (suite) => openTrialPool(suite, async () => ({ url, seeding: server.app.seeding, token, stop })),
  })
}

/** Passes everything on, with another token where one is given. */
async function startProxy(to: string, tokenFor: (request: IncomingMessage) => string | undefined) {
  const proxy: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const token = tokenFor(request)
    const type = request.headers['content-type']
    const answer = await fetch(to + request.url, {
      method: request.method ?? 'GET',
      redirect: 'manual',
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(!token && request.headers.authorization ? { authorization: request.headers.authorization } : {}),
        ...(type ? { 'content-type': type } : {}),
      },
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    response.end(await answer.text())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      proxy.close()
      proxy.closeAllConnections()
    },
  }
}
