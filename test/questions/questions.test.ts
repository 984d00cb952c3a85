/** /policy/v1/…: what the server says of its policy is what the commands say, for those who may ask, in bounds. */
import { appendFile, readdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { POLICY_QUESTIONS } from '../../src/resources/built-in/policy-questions.ts'
import { commandOf } from '../../src/server/questions/question-commands.ts'
import { sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { withRules } from '../policy-text.ts'
import { runs } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'

const ORDER = { method: 'DELETE', path: '/api/orders/{id}', roles: ['member'], relation: 'owner+placed' }

describe('a question about the policy', () => {
  let server: TestServer
  let admin: string
  let auditor: string
  before(async () => {
    server = await startTestServer({ demo: true })
    admin = await server.token('ada', 'admin')
    auditor = await server.token('audrey', 'auditor')
  })
  after(() => server.stop())

  const ask = (name: string, body?: unknown, token = auditor) =>
    server.ask(body === undefined ? 'GET' : 'POST', `/policy/v1/${name}`, { token, body })
  const printed = async (...args: readonly string[]) =>
    JSON.parse((await sallyport([...args, '--format', 'json'], { cwd: server.folder, env: places() })).stdout)
  const places = () => ({ POLICIES: join(server.folder, 'policies'), SCHEMAS: join(server.folder, 'schemas') })

  it('has the answer of the command that it names', async () => {
    const { status, body } = await ask('explain', { ...ORDER, at: '2026-12-01T00:00:00Z' })
    expect(status).to.equal(200)
    expect(body.command).to.equal(
      'sallyport policy explain --role=member --relation=owner+placed --at=2026-12-01T00:00:00Z ' +
        "DELETE '/api/orders/{id}'",
    )
    const { revision: _, ...own } = body.result
    const args = ['--role', 'member', '--relation', 'owner+placed', '--at', '2026-12-01T00:00:00Z']
    const { revision: __, ...wanted } = await printed('policy', 'explain', ...args, 'DELETE', '/api/orders/{id}')
    expect(own).to.deep.equal(wanted)
    expect((await ask('matrix', { roles: ['support'], resources: ['orders'] })).body.result.callers).to.have.length(1)
    const { findings, result } = (await ask('check')).body
    expect([findings, result.errors, result.guarantees[0].status]).to.deep.equal([false, 0, 'proven'])
  })

  it('about people, objects and the log sees the data of this server', async () => {
    const who = await ask('who', { method: 'GET', path: '/api/orders' })
    expect(JSON.stringify(who.body.result)).to.contain('"sam"')
    expect((await ask('of', { subject: 'user:sam' })).body.result.roles).to.deep.equal(['support'])
    expect((await ask('report', {})).body.result.rows.length).to.be.greaterThan(10)
    await server.ask('DELETE', '/api/orders/nothing', { token: auditor })
    await server.decisions()
    const { records } = (await ask('decisions', { outcome: 'refused', route: '/api/orders/{id}', limit: 1 })).body
      .result
    expect([records.length, records[0].status]).to.deep.equal([1, 403])
    const explained = await ask('explain-record', { requestId: records[0].requestId })
    expect(explained.body.result.request.method).to.equal('DELETE')
    expect((await ask('usage', { since: '1h' })).body.command).to.match(/^sallyport policy usage --since=1h \S+$/)
  })

  it('is asked only by those whom the policy lets, for each action', async () => {
    const sam = await server.token('sam', 'support')
    for (const { path, endpoints } of POLICY_QUESTIONS.routes) {
      const [method] = endpoints.has('GET') ? ['GET'] : ['POST']
      const body = method === 'POST' ? {} : undefined
      expect([path, (await server.ask(method ?? '', path, { token: sam, body })).status]).to.deep.equal([path, 403])
      expect([path, (await server.ask(method ?? '', path, { body })).status]).to.deep.equal([path, 401])
    }
    expect((await ask('draft', { files: { 'blocked.txt': '' } })).status).to.equal(403)
  })

  it('is allowed by no rule for all built-in resources, which an older policy may have', async () => {
    const shipped = await readFile(join(server.folder, 'policies/policy.csv'), 'utf8')
    const [wide, named] = ['system/*', 'system/policy'].map((resource) =>
      withRules(shipped, `p, everyone, ${resource}, *, any, *, allow`),
    )
    for (const [csv, status] of [
      [wide, 403],
      [named, 200],
    ] as const) {
      const other = await startTestServer({ demo: true, files: { 'policies/policy.csv': csv ?? '' } })
      try {
        const token = await other.token('sam', 'support')
        expect((await other.ask('GET', '/policy/v1/files', { token })).status).to.equal(status)
      } finally {
        await other.stop()
      }
    }
  })

  it('has its record in the decision log, like every request', async () => {
    await ask('explain', ORDER)
    const record = await server.lastDecision({ route: '/policy/v1/explain', status: 200 })
    expect([record?.action, record?.resource]).to.deep.equal(['explain', 'system/policy'])
  })

  it('that the command would refuse is refused with its sentence, and no fault is told', async () => {
    const { status, body } = await ask('explain', { ...ORDER, roles: ['suport'] })
    expect([status, body.code]).to.deep.equal([422, 'question-refused'])
    expect(body.detail).to.match(/^The command says: roles\.yaml declares no role suport: .*support/)
    expect((await ask('instances')).status).to.equal(422)
    expect((await ask('explain', { method: 'GET' })).body.errors[0].pointer).to.equal('/path')
  })

  it('is about the policy in force while the files on the disk are broken, and says that they are', async () => {
    const file = join(server.folder, 'policies/policy.csv')
    const before = await readFile(file, 'utf8')
    await writeFile(file, withRules(before, 'p, member, orders, read, any'))
    try {
      await server.app.policy.reload()
      const { body } = await ask('files')
      expect(body.files['policy.csv']).to.equal(before)
      expect(body.faults.join()).to.contain('policy.csv')
      const explained = (await ask('explain', ORDER)).body.result
      expect(explained.revision).to.equal(server.app.policy.active.revision)
    } finally {
      await writeFile(file, before)
      await server.app.policy.reload()
    }
  })

  it('follows a change of the policy', async () => {
    const file = join(server.folder, 'policies/policy.csv')
    const before = await readFile(file, 'utf8')
    const fate = async () => (await ask('explain', { ...ORDER, method: 'GET' })).body.result
    const first = await fate()
    await writeFile(file, withRules(before, 'p, member, orders, read, any, *, deny'))
    try {
      await server.app.policy.reload()
      const second = await fate()
      expect(second.revision).to.equal(server.app.policy.active.revision).and.not.to.equal(first.revision)
      expect(JSON.stringify(second.outcome ?? second)).to.not.equal(JSON.stringify(first.outcome ?? first))
    } finally {
      await writeFile(file, before)
      await server.app.policy.reload()
    }
  })

  it('of a draft has its findings and what it changes, and leaves the policy as it is', async () => {
    const { revision } = server.app.policy.active
    const policy = withRules((await ask('files')).body.files['policy.csv'], 'p, member, orders, read, any, *, allow')
    const { check, diff } = (await ask('draft', { files: { 'policy.csv': policy } }, admin)).body
    expect(check.result.errors).to.equal(0)
    expect(JSON.stringify(diff.result)).to.contain('widening').and.to.contain('member')
    await server.ask('GET', '/api/orders', { token: await server.token('sam', 'member') })
    await server.decisions()
    const denying = withRules((await ask('files')).body.files['policy.csv'], 'p, member, orders, list, any, *, deny')
    const replayed = (await ask('replay', { files: { 'policy.csv': denying }, since: '1h' })).body
    expect(replayed.command).to.match(/^sallyport policy replay --candidate=draft --since=1h \S+$/)
    expect([replayed.findings, JSON.stringify(replayed.result).includes('/api/orders')]).to.deep.equal([true, true])
    const broken = (await ask('draft', { files: { 'policy.csv': 'p, x' } }, admin)).body
    expect([broken.diff, broken.check.findings, broken.check.result.findings[0].line]).to.deep.equal([null, true, 1])
    const unnamed = await ask('draft', { files: { '../policy.csv': '' } }, admin)
    expect([unnamed.status, unnamed.body.code]).to.deep.equal([400, 'invalid-body'])
    const without = (await ask('draft', { files: { 'views.yaml': null } }, admin)).body
    expect(without.check.result.findings[0].file).to.equal('draft/views.yaml')
    expect(server.app.policy.active.revision).to.equal(revision)
  })

  it('of names at a place has what an editor offers there, of the draft, or in force where the draft has faults', async () => {
    const names = async (files: object, file: string, text: string) => {
      const body = { files, file, line: 1, column: text.length + 1 }
      return (await ask('names', body, admin)).body
    }
    const line = 'p, night, notes, read, owner+'
    const roles = 'night:\n  description: Works at night.\n'
    const told = await names({ 'policy.csv': line, 'roles.yaml': roles }, 'policy.csv', 'p, ni')
    expect(told.command).to.equal('sallyport policy names --policies=draft --before=policies draft/policy.csv:1:6')
    expect(told.result).to.deep.include({ place: { file: 'draft/policy.csv', line: 1, column: 4 }, length: 5 })
    expect(told.result.names.slice(0, 1)).to.deep.equal([{ name: 'night', kind: 'role', meaning: 'Works at night.' }])
    const labels = async (files: object, text: string) =>
      (await names(files, 'policy.csv', text)).result.names.map(({ name }: { name: string }) => name)
    expect(await labels({ 'policy.csv': line, 'roles.yaml': 'night: [' }, 'p, ')).to.include.members([
      'member',
      'everyone',
    ])
    expect(await labels({ 'policy.csv': line, 'roles.yaml': null }, line)).to.include.members(['owner', 'any'])
    expect(await labels({}, '# ')).to.deep.equal([])
    const beyond = await ask('names', { files: {}, file: 'policy.csv', line: 9999, column: 1 }, admin)
    expect([beyond.status, beyond.body.detail]).to.deep.equal([
      422,
      'The command says: policies/policy.csv has no line 9999 with a column 1.',
    ])
    for (const file of ['../policy.csv', 'nothing.csv:1', '/etc/passwd']) {
      expect((await ask('names', { files: {}, file, line: 1, column: 1 }, admin)).status, file).to.equal(400)
    }
    expect((await ask('names', { files: {}, file: 'nothing.csv', line: 1, column: 1 }, admin)).status).to.equal(422)
    expect((await ask('names', { files: {}, file: 'policy.csv', line: 1, column: 1 })).status).to.equal(403)
  })
})

describe('the decisions of a server, followed', () => {
  let server: TestServer
  let token: string
  before(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('audrey', 'auditor')
  })
  after(() => server.stop())

  const follow = (body: object, signal?: AbortSignal) =>
    fetch(`${server.url}/policy/v1/follow`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
  const refusals = (text: string) => text.split('\n\n').filter((one) => one.includes('event: decision'))
  const idOf = (event = '') => /^id: (\S+)$/m.exec(event)?.[1]
  /** As many events as are wanted; `meanwhile` runs when the stream has begun. */
  async function events(body: object, wanted: number, meanwhile: () => Promise<unknown>): Promise<readonly string[]> {
    const leaving = new AbortController()
    const response = await follow({ seconds: 60, ...body }, leaving.signal)
    expect(response.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8')
    let text = ''
    for await (const piece of response.body ?? []) {
      if (text === '') await meanwhile()
      text += Buffer.from(piece).toString()
      if (refusals(text).length >= wanted) break
    }
    leaving.abort()
    return refusals(text)
  }
  const refuse = () => server.ask('DELETE', '/api/orders/nothing', { token })

  it('come as events while they are made, those that fit alone, and each once after a break', async () => {
    const first = await events({ outcome: 'refused' }, 2, async () => {
      await refuse()
      await server.ask('GET', '/api/orders', { token })
      await refuse()
    })
    expect(first).to.have.length(2)
    expect(first.join()).to.not.contain('"outcome":"allowed"')
    await refuse()
    await server.decisions()
    const second = await events({ outcome: 'refused', after: idOf(first.at(-1)) }, 2, refuse)
    const ids = [...first, ...second].map(idOf)
    expect(new Set(ids).size).to.equal(4)
    const logged = (await server.decisions()).filter(({ outcome }) => outcome === 'refused')
    expect(ids).to.deep.equal(logged.map(({ requestId }) => requestId))
  })

  it('end after the seconds that were asked for', async () => {
    const text = await (await follow({ seconds: 1 })).text()
    expect(text).to.match(/^: following\n\n/)
  })

  it('begin anew, and say so, where the last event is not in the log', async () => {
    const response = await follow({ seconds: 1, after: 'nobody knows it' })
    expect(await response.text()).to.contain('event: reset\ndata: {}\n\n')
  })

  it('begin anew where more was decided meanwhile than a stream may hold', async () => {
    await refuse()
    const last = await server.lastDecision({ method: 'DELETE', status: 403 })
    const more = Array.from({ length: 1500 }, (_, n) => {
      return `${JSON.stringify({ ...last, requestId: `more-${n}`, method: 'x'.repeat(1000) })}\n`
    })
    await appendFile(join(server.folder, 'data/decisions.log'), more.join(''))
    const ask = async (after: unknown) => (await follow({ seconds: 1, after: String(after) })).text()
    expect(await ask(last?.requestId)).to.contain('event: reset\n')
    expect(await ask('more-1490'))
      .to.contain('id: more-1491\n')
      .and.not.contain('reset')
  })

  it('begin anew, too, where an older file of the log can not be read', async () => {
    const link = join(server.folder, 'data/decisions.log.1')
    await symlink('nowhere', link)
    try {
      expect(await (await follow({ seconds: 1, after: 'nobody knows it' })).text()).to.contain('event: reset\n')
    } finally {
      await unlink(link)
    }
  })

  it('are 4 streams of a caller at most, and one more when one has ended', async () => {
    const leaving = new AbortController()
    const open = await Promise.all([1, 2, 3, 4].map(() => follow({ seconds: 60 }, leaving.signal)))
    expect(open.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
    expect((await follow({ seconds: 1 })).status).to.equal(429)
    leaving.abort()
    await until(async () => (await follow({ seconds: 1 })).status === 200)
  })

  it('hold up no server that stops', async () => {
    const other = await startTestServer({ demo: true })
    const headers = {
      authorization: `Bearer ${await other.token('audrey', 'auditor')}`,
      'content-type': 'application/json',
    }
    const body = JSON.stringify({ seconds: 60 })
    const response = await fetch(`${other.url}/policy/v1/follow`, { method: 'POST', headers, body })
    expect(response.headers.get('connection')).to.equal('close')
    const ended = response.text()
    await other.stop()
    expect(await ended).to.match(/^: following/)
  })
})

describe('questions about the policy', () => {
  it('are too many at a time for one caller, and answered again later', async () => {
    const server = await startTestServer({ demo: true })
    try {
      const token = await server.token('audrey', 'auditor')
      const ask = () => server.ask('POST', '/policy/v1/explain', { token, body: ORDER })
      const statuses = (await Promise.all(Array.from({ length: 10 }, ask))).map(({ status }) => status)
      expect(statuses.filter((one) => one === 200)).to.have.length(6)
      expect(statuses.filter((one) => one === 429)).to.have.length(4)
      expect((await ask()).status).to.equal(200)
    } finally {
      await server.stop()
    }
  })

  it('take turns by caller: many of one hold up no other', async () => {
    const server = await startTestServer({ demo: true })
    try {
      const ended: string[] = []
      const ask = async (name: string, role: string) => {
        const token = await server.token(name, role)
        await server.ask('POST', '/policy/v1/explain', { token, body: ORDER })
        ended.push(name)
      }
      const many = [1, 2, 3, 4, 5, 6].map(() => ask('ada', 'admin'))
      await until(async () => (await server.decisions()).length > 0)
      await Promise.all([...many, ask('audrey', 'auditor')])
      expect(ended.indexOf('audrey'), ended.join()).to.be.lessThan(4)
    } finally {
      await server.stop()
    }
  })

  it('that take too long are given up, and the next one is answered by a new process', async () => {
    const server = await startTestServer({ demo: true, questions: { patienceMs: 1 } })
    const patient = await startTestServer({ demo: true, questions: { idleMs: 1 } })
    try {
      const ask = async (one: TestServer) =>
        one.ask('GET', '/policy/v1/check', { token: await one.token('audrey', 'auditor') })
      const { status, body } = await ask(server)
      expect([status, body.code]).to.deep.equal([503, 'read-too-long'])
      expect((await ask(server)).status).to.equal(503)
      expect((await ask(patient)).status).to.equal(200)
      expect((await ask(patient)).status).to.equal(200)
    } finally {
      await Promise.all([server.stop(), patient.stop()])
    }
  })

  it('whose clients are gone stop, and hold up nobody', async () => {
    const server = await startTestServer({ demo: true })
    try {
      const token = await server.token('audrey', 'auditor')
      const leaving = new AbortController()
      const headers = { authorization: `Bearer ${token}` }
      const left = fetch(`${server.url}/policy/v1/check`, { headers, signal: leaving.signal })
      setTimeout(() => leaving.abort(), 50)
      expect(await left.catch(() => 'gone')).to.equal('gone')
      await until(async () => (await server.ask('GET', '/policy/v1/check', { token })).status === 200)
    } finally {
      await server.stop()
    }
  })

  it('go on after their process was killed, and their folder deleted', async () => {
    const server = await startTestServer({ demo: true, questions: { idleMs: 60_000 } })
    try {
      const token = await server.token('audrey', 'auditor')
      const ask = async () => (await server.ask('GET', '/policy/v1/check', { token })).status
      expect(await ask()).to.equal(200)
      const [pid] = await childrenOf('question-process')
      for (const name of await readdir(tmpdir())) {
        if (name.startsWith(`sallyport-questions-${process.pid}-`)) await removeFolder(join(tmpdir(), name))
      }
      process.kill(Number(pid), 'SIGKILL')
      await until(async () => (await childrenOf('question-process')).every((one) => one !== pid))
      await until(async () => (await ask()) === 200)
    } finally {
      await server.stop()
    }
  })

  it('become no option of a command, whatever their members hold', () => {
    const texts = fc.record({
      method: fc.constantFrom('GET', 'PATCH'),
      path: fc.oneof(fc.string(), fc.constant('--policies=/etc')),
      roles: fc.array(fc.oneof(fc.string(), fc.constant('--key=x'))),
      at: fc.string(),
    })
    fc.assert(
      fc.property(texts, (body) => {
        const { argv } = commandOf('explain', body)
        const end = argv.indexOf('--')
        expect(argv.slice(end + 1)).to.deep.equal([body.method, body.path])
        const names = argv.slice(2, end).map((one) => one.slice(0, one.indexOf('=')))
        expect(new Set(names)).to.deep.equal(new Set([...body.roles.map(() => '--role'), '--at', '--format']))
      }),
      { numRuns: runs(100) },
    )
  })

  it('name a command that a shell takes as it is', async () => {
    const { shown } = commandOf('explain', { method: 'GET', path: "/api/orders/it's", roles: ['a b'] })
    expect(shown).to.equal(`sallyport policy explain '--role=a b' GET '/api/orders/it'\\''s'`)
  })
})

/** Ids of processes of this one whose command line has the word. */
async function childrenOf(word: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(
    pids.map(async (pid) => {
      const [stat, line] = await Promise.all(
        ['stat', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
      )
      const [, parent] = /\) \S (\d+) /.exec(stat ?? '') ?? []
      return { pid, isOurs: parent === String(process.pid) && (line ?? '').includes(word) }
    }),
  )
  return lines.filter(({ isOurs }) => isOurs).map(({ pid }) => pid)
}
