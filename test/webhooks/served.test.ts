/** Webhooks of a whole server: a receiver is sent what a client with the same API key would see, and nothing else. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { createApiKey, hashOfSecret } from '../../src/identity/directory/api-key.ts'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { type HttpCollector, makeCertificate, startHttpCollector } from '../decision-log/send/collectors.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { EVENTS_WORLD } from '../events/events-world.ts'
import { FollowingClient } from '../events/follow.ts'
import { holds } from '../output-shapes.ts'
import type { TestServer } from '../server.ts'
import { until } from '../until.ts'

describe('webhooks, on PostgreSQL', () => {
  let folder: string
  let receiver: HttpCollector
  let on: OnEngine
  let server: TestServer
  let admin: string
  let env: Record<string, string>
  const key = createApiKey()

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-webhooks-'))
    makeCertificate(folder)
    receiver = await startHttpCollector(folder)
    const subscriptions = `erp:
  url: https://127.0.0.1:${receiver.port}/hook
  key: ${key.id}
  resource: parcels
  filter: state=new
off: { url: "https://erp.example.com/", key: ${key.id}, resource: parcels, enabled: false }
`
    const webhooks = { WEBHOOK_NETWORKS: '127.0.0.0/8', WEBHOOK_CA: join(folder, 'crt.pem') }
    const files = { ...EVENTS_WORLD, 'policies/subscriptions.yaml': subscriptions }
    // The other tests of webhooks have SQLite.
    const [, [, startOn] = []] = ENGINES
    if (!startOn) throw new Error('there is one engine')
    on = await startOn({ env: webhooks, files })
    server = on.server
    env = { ...on.env, ...webhooks }
    await server.app.directory.addKey({
      ...{ id: key.id, secretHash: hashOfSecret(key.secret), subject: 'alice', roles: ['member'], name: '' },
      ...{ createdAt: Date.now(), expiresAt: Date.now() + 3_600_000 },
    })
    admin = on.tokens.ada ?? ''
  })
  after(async () => {
    await on.stop()
    await receiver.stop()
    await removeFolder(folder)
  })

  const events = async (...args: readonly string[]) => {
    const [name = ''] = args
    const { code, stdout, stderr } = await sallyport(['events', ...args, '--format', 'json'], { env })
    if (code !== 0) return { code, stderr }
    await holds(`events-${name}`, stdout)
    return JSON.parse(stdout)
  }
  const write = async (method: string, path: string, body?: unknown) => {
    const answer = await server.ask(method, path, { token: admin, ...(body === undefined ? {} : { body }) })
    expect(answer.status, answer.text).to.be.within(200, 204)
    return answer.body
  }
  const received = () =>
    receiver.taken.map(({ body }) => {
      const { type, data } = JSON.parse(body)
      return { kind: type.replace('parcels.', ''), data }
    })

  it('send what a stream of the key is told, signed with the secret that `events secret` prints', async () => {
    const client = await FollowingClient.open(server.url, key.text, { query: '?state=new', lists: false })
    await until(() => client.heard.length === 1 && receiver.taken.length === 1)
    const { id } = await write('POST', '/parcels', { ownerId: 'alice', secret: 's1' })
    await write('POST', '/parcels', { ownerId: 'bob' })
    await write('PATCH', `/parcels/${id}`, { secret: 's2' })
    await write('PATCH', `/parcels/${id}`, { note: 'fragile' })
    await write('PATCH', `/parcels/${id}`, { state: 'lost' })
    await write('PATCH', `/parcels/${id}`, { state: 'new' })
    await write('DELETE', `/parcels/${id}`)
    await until(() => client.heard.length === 7 && receiver.taken.length === 7)
    client.close()
    expect(received()).to.deep.equal(client.heard.map(({ kind, data }) => ({ kind, data })))
    expect(received().map(({ kind }) => kind)).to.deep.equal([
      'reset',
      'appeared',
      'changed',
      'changed',
      'gone',
      'appeared',
      'gone',
    ])
    expect(JSON.stringify(received())).not.to.contain('secret')

    const { secret } = await events('secret', 'erp')
    for (const { body, headers } of receiver.taken) {
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).to.deep.equal(JSON.parse(body))
      expect(() => new Webhook(secret).verify(`${body} `, headers as Record<string, string>)).to.throw()
    }
    const at = (await server.decisions()).findLast(({ method }) => method === 'DELETE')?.time
    expect(
      Math.abs(Date.parse(JSON.parse(receiver.taken.at(-1)?.body ?? '').timestamp) - Date.parse(String(at))),
    ).to.be.lessThan(1000)
    expect(JSON.stringify(server.log)).not.to.match(/whsec_|sp_/)
  })

  it('are listed with how far they are, which the admin port tells too', async () => {
    await until(async () => (await events('list')).subscriptions[0].lag === 0)
    const { subscriptions } = await events('list')
    expect(subscriptions.map(({ name, state }: { name: string; state: string }) => [name, state])).to.deep.equal([
      ['erp', 'delivering'],
      ['off', 'disabled'],
    ])
    const metrics = await (await fetch(`${server.app.adminUrl}/metrics`)).text()
    expect(metrics).to.contain('sallyport_webhook_taken_total{subscription="erp"} 7')
    expect(metrics).to.contain('sallyport_webhook_lag_changes{subscription="erp"} 0')
    expect(metrics).to.contain('sallyport_webhook_failing_seconds{subscription="erp"} 0')
  })

  it('refuse commands about what is not there, and say what to do', async () => {
    expect((await events('redeliver', 'er')).stderr).to.contain('there is no subscription `er`: name one of erp, off')
    expect((await events('skip', 'erp')).stderr).to.contain('no event of `erp` waits to be tried again')
    expect((await events('redeliver', 'erp', '--id', 'erp.9')).stderr).to.contain('has no dead letter `erp.9`')
    expect(await events('redeliver', 'erp', '--all')).to.deep.equal({ name: 'erp', due: [] })
  })

  it('stop when the key is revoked, which `events list` and `doctor` say; and the records tell what was sent', async () => {
    await server.app.directory.revokeKey(key.id)
    await until(async () => (await events('list', 'erp')).subscriptions[0].state === 'refused')
    const before = receiver.taken.length
    await write('POST', '/parcels', { ownerId: 'alice' })
    const [erp] = (await events('list', 'erp')).subscriptions
    expect(erp.why).to.contain('the stream answers 401 token-invalid')
    expect(receiver.taken.slice(before).map(({ body }) => JSON.parse(body).type)).to.deep.equal([])
    const doctor = await sallyport(['doctor'], { env: { ...env, PORT: '0', ADMIN_PORT: '0' } })
    expect(doctor.stdout).to.contain('erp')
    await until(async () => (await server.deeds()).some(({ action }) => action === 'deliver'))
    const sent = (await server.deeds()).filter(({ action }) => action === 'deliver')
    expect(sent[0]).to.deep.include({ resource: 'parcels', outcome: 'allowed', status: 200 })
    expect(sent[0]?.delivered).to.deep.include({ subscription: 'erp', to: `127.0.0.1:${receiver.port}` })
  })

  it('end when the file is changed', async () => {
    await writeFile(join(server.folder, 'policies/subscriptions.yaml'), '{}\n')
    await until(async () => (await events('list')).subscriptions.length === 0)
  })
})
