/** /policy/v1/matrix-…: matrices over HTTP are those of the server or those that the question brings, by the same commands. */
import { mkdir, readdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { sallyport } from '../command.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'

const HEAD = ['method', 'path', 'object', 'anonymous', 'member', 'support']
const ROWS = [
  HEAD,
  ['GET', '/api/orders/{id}', 'placed+open', '401', '403', '403'],
  ['DELETE', '/api/orders/{id}', 'owner+draft+open', '-', '204', '204'],
]

describe('matrices over HTTP', () => {
  let server: TestServer
  let admin: string
  let auditor: string
  before(async () => {
    server = await startTestServer({ demo: true })
    admin = await server.token('ada', 'admin')
    auditor = await server.token('audrey', 'auditor')
    await mkdir(join(server.folder, 'test/matrix'), { recursive: true })
    // With an empty row behind the heads.
    const lines = ROWS.map((row) => `${row.join(';')}\n`)
    await writeFile(join(server.folder, 'test/matrix/orders.csv'), lines.join('\n'))
    await writeFile(join(server.folder, 'test/matrix/.hidden.csv'), 'not a matrix')
  })
  after(() => server.stop())

  const ask = (name: string, body?: unknown, token = admin) =>
    server.ask(body === undefined ? 'GET' : 'POST', `/policy/v1/${name}`, { token, body })

  it('are shown as they are written, with their places, to those who may read the policy', async () => {
    const { body } = await ask('matrices', undefined, auditor)
    expect([body.command, body.findings]).to.deep.equal(['sallyport matrix show', false])
    const [orders] = body.result.matrices
    expect(orders.file).to.equal('test/matrix/orders.csv')
    expect(orders.rows).to.deep.equal(ROWS)
    expect(orders.places[1].slice(0, 3)).to.deep.equal(['3:1', '3:5', '3:22'])
    const found = await ask('matrix-find', { method: 'GET', path: '/api/orders/{id}', roles: ['support'] }, auditor)
    expect(found.body.result.cells.map(({ title }: { title: string }) => title)).to.deep.equal([
      'GET /api/orders/{id} (open+placed) as support is 403',
    ])
    for (const name of ['matrix-test', 'matrix-coverage', 'matrix-mutate', 'matrix-init'])
      expect([name, (await ask(name, {}, auditor)).status]).to.deep.equal([name, 403])
    // They take long: whoever means the policy in force says so.
    for (const name of ['matrix-test', 'matrix-coverage', 'matrix-mutate', 'matrix-init'])
      expect([name, (await ask(name, {})).status]).to.deep.equal([name, 400])
  })

  it('are tried on a server of their own, by the policy in force', async () => {
    const { status, body } = await ask('matrix-test', { files: {} })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect([body.test.command, body.test.findings]).to.deep.equal(['sallyport matrix test', true])
    expect(body.test.result.counts).to.include({ passed: 4, failed: 1 })
    const [wrong] = body.test.result.results.filter(({ outcome }: { outcome: string }) => outcome === 'failed')
    expect([wrong.cell.column, wrong.status, wrong.cause]).to.deep.equal(['support', 200, 'policy.csv:36 allows it'])
    const { line, column } = wrong.place
    const [orders] = body.matrices.result.matrices
    expect(orders.rows[1][orders.places[1].indexOf(`${line}:${column}`)]).to.equal('403')
    const own = await ask('matrix-test', { files: {}, roles: ['member'], resources: ['orders'] })
    expect(own.body.test.result.counts.passed).to.equal(2)
  })

  it('that are brought take the place of those of the server, and change no file', async () => {
    const before = await readFile(join(server.folder, 'test/matrix/orders.csv'), 'utf8')
    const rows = [...ROWS.slice(0, 1), ['GET', '/api/orders/{id}', 'placed+open', '401', '403', '200']]
    const notes = [
      [...HEAD.slice(0, 3), 'body', 'note', 'member'],
      ['POST', '/api/v1/notes', 'none', 'it.json', 'with "quotes", commas;\nand lines', '201'],
    ]
    const bodies = { 'it.json': '{"title":"It"}' }
    const { body } = await ask('matrix-test', {
      files: {},
      matrices: { 'orders.csv': rows, 'notes.csv': notes },
      bodies,
    })
    expect(body.test.command).to.equal('sallyport matrix test matrices')
    expect(body.test.result.counts).to.include({ passed: 4, failed: 0, impossible: 0 })
    expect(body.matrices.result.matrices.map(({ file }: { file: string }) => file)).to.deep.equal([
      'matrices/notes.csv',
      'matrices/orders.csv',
    ])
    expect(await readFile(join(server.folder, 'test/matrix/orders.csv'), 'utf8')).to.equal(before)
    expect(await readdir(join(server.folder, 'test/matrix'))).to.have.members(['orders.csv', '.hidden.csv'])
  })

  it('with faults are not tried, and each fault has its place', async () => {
    const rows = [HEAD, ['GTE', '/api/orders', 'none', '401', '', '200']]
    const { status, body } = await ask('matrix-test', { files: {}, matrices: { 'orders.csv': rows } })
    expect([status, body.test, body.matrices.findings]).to.deep.equal([200, null, true])
    const places = body.matrices.result.faults.map(({ line, column }: { line: number; column: number }) => {
      return body.matrices.result.matrices[0].places[line - 1].indexOf(`${line}:${column}`)
    })
    expect(places).to.deep.equal([0, 4])
  })

  it('are tried against a draft, which decides otherwise', async () => {
    const { files } = (await ask('files')).body
    const policy = withRules(files['policy.csv'], 'p, support, orders, read, any, *, deny')
    const asked = { files: { 'policy.csv': policy } }
    const { body } = await ask('matrix-test', asked)
    expect(body.test.command).to.equal('sallyport matrix test --policies=draft')
    expect(body.test.result.counts).to.include({ passed: 5, failed: 0 })
    const broken = await ask('matrix-test', { files: { 'policy.csv': 'p, x' } })
    expect([broken.status, broken.body.code]).to.deep.equal([422, 'question-refused'])
    expect(broken.body.detail).to.contain('draft/policy.csv:1')
  })

  it('are measured, and what they miss is told, as by the commands', async () => {
    const places = { POLICIES: join(server.folder, 'policies'), SCHEMAS: join(server.folder, 'schemas') }
    const printed = async (word: string) =>
      JSON.parse((await sallyport(['matrix', word, '--format', 'json'], { cwd: server.folder, env: places })).stdout)
    expect((await ask('matrix-coverage', { files: {} })).body.result).to.deep.equal(await printed('coverage'))
    const { body } = await ask('matrix-mutate', { files: {}, resources: ['orders'], mistakes: ['drop-rule'] })
    expect(body.command).to.equal('sallyport matrix mutate --resource=orders --only=drop-rule')
    expect(body.result.survived).to.be.greaterThan(0)
    expect(body.result.mutants.every(({ operator }: { operator: string }) => operator === 'drop-rule')).to.equal(true)
  })

  it('are written in full, or what is missing of them, with bodies that a run takes; nothing is kept', async () => {
    const whole = (await ask('matrix-init', { files: {}, roles: ['member', 'anonymous'] })).body
    expect(whole.init.command).to.equal('sallyport matrix init --role=member --role=anonymous')
    const all = byName(whole.matrices.result.matrices)
    expect(Object.keys(all)).to.include.members(['orders.csv', 'notes.csv'])
    const run = (
      await ask('matrix-test', { files: {}, matrices: all, ...some({ bodies: whole.bodies }), roles: ['member'] })
    ).body
    expect(run.test.result.counts).to.include({ failed: 0, impossible: 0 })
    const missing = (await ask('matrix-init', { files: {}, matrices: all, missing: true, roles: ['member'] })).body
    expect(missing.matrices).to.equal(null)
    expect(
      (await ask('matrix-init', { files: {}, missing: true, roles: ['member'] })).body.init.result.files,
    ).to.include('init/orders.missing.csv')
    expect(await readdir(join(server.folder, 'test/matrix'))).to.have.members(['orders.csv', '.hidden.csv'])
  })

  it('are refused with names that lead elsewhere, and links out of their folder are not copied', async () => {
    for (const name of ['../x.csv', '.x.csv', 'a/b.csv', 'a\\b.csv', 'x.txt', `${'é'.repeat(61)}.csv`, 'a\n.csv'])
      expect([name, (await ask('matrix-test', { files: {}, matrices: { [name]: ROWS } })).status]).to.deep.equal([
        name,
        400,
      ])
    const name = `"><img src=x onerror=alert(1)> ${'é'.repeat(29)}.csv`
    expect(
      (await ask('matrix-test', { files: {}, matrices: { [name]: ROWS } })).body.matrices.result.matrices[0].file,
    ).to.equal(`matrices/${name}`)
    const link = join(server.folder, 'test/matrix/linked.csv')
    await writeFile(join(server.folder, 'secret.csv'), 'method,path,object,member\nGET,/api/secrets,none,200\n')
    await symlink(join(server.folder, 'secret.csv'), link)
    try {
      const { status, body } = await ask('matrix-test', { files: {}, matrices: { 'orders.csv': ROWS } })
      expect([status, body.code]).to.deep.equal([422, 'question-refused'])
      expect(body.detail).to.contain('linked.csv').and.not.contain('/api/secrets')
    } finally {
      await unlink(link)
    }
  })

  it('are none where the server has none, and can be brought all the same', async () => {
    const other = await startTestServer({ demo: true })
    try {
      const token = await other.token('ada', 'admin')
      const read = await other.ask('GET', '/policy/v1/matrices', { token })
      expect([read.status, read.body.detail]).to.have.property('1').that.contains('no such file or folder')
      const body = { files: {}, matrices: { 'orders.csv': ROWS } }
      const run = await other.ask('POST', '/policy/v1/matrix-test', { token, body })
      expect(run.body.test.result.counts).to.include({ passed: 4, failed: 1 })
    } finally {
      await other.stop()
    }
  })

  it('hold up no other question while they run', async () => {
    // A part of all cells: all of them take longer than the bound on a busy machine.
    const all = (await ask('matrix-init', { files: {}, roles: ['member'] })).body
    const ended: string[] = []
    const running = ask('matrix-test', { files: {}, matrices: byName(all.matrices.result.matrices) }).then(
      ({ status }) => {
        ended.push(`test ${status}`)
      },
    )
    await ask('check').then(({ status }) => ended.push(`check ${status}`))
    await running
    expect(ended).to.deep.equal(['check 200', 'test 200'])
  })

  it('that run too long are given up, and nothing of their servers is left', async () => {
    const other = await startTestServer({ demo: true, questions: { patienceMs: 2500, folder: server.folder } })
    const mine = `sallyport-questions-${process.pid}-`
    const before = (await readdir(tmpdir())).filter((name) => name.startsWith(mine))
    const long = join(server.folder, 'test/matrix/long.csv')
    await writeFile(long, [HEAD, ...Array.from({ length: 10_000 }, () => ROWS[2])].join('\n'))
    try {
      const token = await other.token('ada', 'admin')
      const { status, body } = await other.ask('POST', '/policy/v1/matrix-test', { token, body: { files: {} } })
      expect([status, body.code]).to.deep.equal([503, 'read-too-long'])
      // The next one finds no server of the run before. It may be late too, where the machine is busy.
      await until(async () => (await other.ask('GET', '/policy/v1/check', { token })).status === 200)
    } finally {
      await unlink(long)
      await other.stop()
    }
    const after = (await readdir(tmpdir())).filter((name) => name.startsWith(mine))
    expect(after).to.deep.equal(before)
  })
})

function byName(matrices: readonly { readonly file: string; readonly rows: readonly (readonly string[])[] }[]) {
  return Object.fromEntries(matrices.map(({ file, rows }) => [file.slice(file.lastIndexOf('/') + 1), rows]))
}

/** Without members that are empty. */
function some(members: Readonly<Record<string, object>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => Object.keys(value).length > 0))
}
