/** A changed policy is in force within a second; a broken one never is, and says so; blocks count whatever else is broken. */
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { addRules, withRules } from '../policy-text.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { until as untilHolds } from '../until.ts'
import { readinessOf } from './readiness.ts'
import { until } from './until.ts'

describe('a policy that changes', () => {
  let server: TestServer
  let token: string

  beforeEach(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('alice', 'member')
  })
  afterEach(() => server.stop())

  it('is in force within a second, and Policy-Revision changes with it', async () => {
    const before = await bobsProfile()
    expect(before.status).to.equal(403)
    await addRules(file('policy.csv'), 'p, member, users, read, any, public, allow\n')
    const after = await until(bobsProfile, ({ status }) => status === 200)
    expect(after.body).to.have.all.keys('id', 'displayName', 'bio')
    expect(after.headers.get('policy-revision')).not.to.equal(before.headers.get('policy-revision'))
    expect(after.headers.get('policy-revision')).to.equal(server.app.policy.active.revision)
    await untilLogged('policy activated')
    expect(logged('policy activated')).to.have.length(1)
  })

  it('is told with what it means: how much widens and narrows, and the first sentences', async () => {
    await addRules(file('policy.csv'), 'p, support, orders, delete, any, *, allow\n')
    const line = await untilLogged('policy activated')
    expect(line).to.include({ widening: 1, narrowing: 0, either: 0, neutral: 0, more: 0 })
    expect(line?.revision).to.equal(server.app.policy.active.revision)
    expect(line?.sentences).to.deep.equal(['support gains delete on orders (any, had owner+draft)'])
  })

  it('takes away as well: what was allowed is refused', async () => {
    expect((await notes()).status).to.equal(200)
    const text = await readFile(file('policy.csv'), 'utf8')
    await writeFile(file('policy.csv'), text.replace(/^p, member, notes,.*$/m, ''))
    await until(notes, ({ status }) => status === 403)
  })

  it('gives the same revision to the same content', async () => {
    const text = await readFile(file('policy.csv'), 'utf8')
    const first = (await notes()).headers.get('policy-revision')
    await writeFile(file('policy.csv'), `${text}# a comment\n`)
    await until(notes, ({ headers }) => headers.get('policy-revision') !== first)
    await writeFile(file('policy.csv'), text)
    await until(notes, ({ headers }) => headers.get('policy-revision') === first)
  })

  it('never is in force when it is broken: the last good one stays, and log, metric and readiness say so', async () => {
    const revision = (await notes()).headers.get('policy-revision')
    const text = await readFile(file('policy.csv'), 'utf8')
    await writeFile(file('policy.csv'), withRules(text, 'p, member, notes, list, any, *, Deny'))
    const ready = await until(readiness, ({ body }) => body.status === 'degraded')
    expect(ready.status).to.equal(200)
    expect(ready.body.checks.policy.status).to.equal('degraded')
    expect(ready.body.checks.policy.detail).to.contain('the previous policy stays in force')
    const now = await notes()
    expect([now.status, now.headers.get('policy-revision')]).to.deep.equal([200, revision])
    const [failure] = logged('policy refused; the previous policy stays in force')
    expect(failure?.level).to.equal(50)
    const place = { file: file('policy.csv'), line: text.split('\n').length - 1 }
    expect((failure as { faults: object[] }).faults[0]).to.include({ ...place, column: 33 })
    expect(ready.body.checks.policy.detail).to.contain(`policy.csv:${place.line}:33 [`).and.contain(revision)
    expect(await metric('policy_load_failures_total')).to.be.greaterThan(0)
    expect(await metric('policy_degraded')).to.equal(1)

    await writeFile(file('policy.csv'), text)
    await until(readiness, ({ body }) => body.status === 'ok')
    expect(await metric('policy_degraded')).to.equal(0)
    expect(logged('policy files are valid again')).to.have.length(1)
  })

  for (const [name, text] of [
    ['policy.csv', 'p, member, notes\n'],
    ['roles.yaml', 'member: ['],
    ['ownership.yaml', 'notes: { relations: { owner: nowhere } }\n'],
    ['limits.yaml', 'body: 1kb\n'],
    ['model.conf', '[request_definition]\nr = sub\n'],
  ] as const) {
    it(`a ${name} that is broken changes nothing for anybody`, async () => {
      await writeFile(file(name), text)
      // The log's tree may begin to be signed at any moment.
      const told = () =>
        server.log.map(({ msg }) => msg).filter((msg) => !String(msg).startsWith('the decision log is'))
      await untilHolds(() => told().length > 0)
      expect(told()).to.deep.equal(['policy refused; the previous policy stays in force'])
      expect((await bobsProfile()).status).to.equal(403)
      expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(401)
      expect((await notes()).status).to.equal(200)
    })
  }

  it('an empty policy.csv is no broken one: it denies everything', async () => {
    await writeFile(file('policy.csv'), '')
    await until(notes, ({ status }) => status === 403)
    expect((await server.ask('GET', '/livez')).status).to.equal(401)
  })

  it('a block counts within a second, while policy.csv is broken, and ends when it is taken away', async () => {
    await writeFile(file('policy.csv'), 'broken\n')
    await until(readiness, ({ body }) => body.status === 'degraded')
    await writeFile(file('blocked.txt'), '# gone\nuser:alice\n')
    const blocked = await until(notes, ({ status }) => status === 403)
    expect(blocked.body.code).to.equal('blocked')
    const admin = await server.token('alice', 'admin')
    for (const path of ['/api/v1/notes', '/livez', '/profile/bob']) {
      expect((await server.ask('GET', path, { token: admin })).body.code, path).to.equal('blocked')
    }
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
    expect((await server.ask('GET', '/profile', { token: await server.token('bob', 'member') })).status).to.equal(200)
    await writeFile(file('blocked.txt'), '')
    await until(notes, ({ status }) => status === 200)
  })

  it('a blocked.txt that is broken keeps the blocks that were', async () => {
    await writeFile(file('blocked.txt'), 'user:alice\n')
    await until(notes, ({ status }) => status === 403)
    await writeFile(file('blocked.txt'), 'alice\n')
    await until(readiness, ({ body }) => body.status === 'degraded')
    expect((await notes()).body.code).to.equal('blocked')
  })

  it('a cursor survives it', async () => {
    const { body } = await server.ask('GET', '/api/v1/notes?limit=1', { token })
    await appendFile(file('policy.csv'), '# changed\n')
    const revision = server.app.policy.active.revision
    await until(notes, ({ headers }) => headers.get('policy-revision') !== revision)
    const next = await server.ask('GET', `/api/v1/notes?limit=1&cursor=${body.next}`, { token })
    expect([next.status, next.body.items.length]).to.deep.equal([200, 1])
  })

  function file(name: string): string {
    return join(server.folder, 'policies', name)
  }

  function bobsProfile(): Promise<Answer> {
    return server.ask('GET', '/api/users/bob', { token })
  }

  function notes(): Promise<Answer> {
    return server.ask('GET', '/api/v1/notes', { token })
  }

  function readiness(): Promise<Answer> {
    return readinessOf(server)
  }

  function logged(message: string): readonly Record<string, unknown>[] {
    return server.log.filter(({ msg }) => msg === message)
  }

  async function untilLogged(message: string): Promise<Record<string, unknown> | undefined> {
    await untilHolds(() => logged(message).length > 0)
    return logged(message)[0]
  }

  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`${server.app.adminUrl}/metrics`)).text()
    return Number(new RegExp(`^sallyport_${name} (\\d+)$`, 'm').exec(text)?.[1])
  }
})
