/** --object and --record: what a database and a log hold, read beside a running server and after it, and left as they are. */
import { copyFile, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Explanation } from '../../../src/tools/explain/explanation.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import type { TestServer } from '../../server.ts'
import { type Folders, run } from './program.ts'
import { putObjects, startWorld } from './world.ts'

describe('sallyport policy explain, of stored objects and records', () => {
  let server: TestServer
  let folders: Folders
  let ids: ReadonlyMap<string, readonly string[]>

  before(async () => {
    server = await startWorld()
    folders = {
      policies: join(server.folder, 'policies'),
      schemas: join(server.folder, 'schemas'),
      database: join(server.folder, 'data/sallyport.db'),
    }
    ids = await putObjects(server)
  })
  after(() => server.stop())

  it('says how the caller relates to the object, and by which values', async () => {
    const bob = ['--role', 'member', '--subject', 'bob']
    const [, task = '', done = ''] = ids.get('tasks') ?? []
    const { relations, outcome, cases } = await explained([...bob, 'GET', '/tasks/{id}', '--object', task])
    expect({ outcome, fields: cases[0]?.fields?.shown }).to.deep.equal({ outcome: 'allow', fields: ['id', 'text'] })
    expect(relations).to.deep.equal([
      { name: 'owner', holds: false, why: 'ownerId is alice, not the caller (bob)' },
      { name: 'teammate', holds: true, why: "team is engineering, the caller's department" },
      { name: 'finished', holds: false, why: 'done is false, not true' },
    ])
    const concealed = await explained([...bob, 'GET', `/tasks/${done}`, '--object', done])
    expect(concealed.relations[1]?.why).to.equal("team is absent, not the caller's department (engineering)")
    expect(concealed.answer).to.deep.include({ status: 404, code: 'object-not-found' })
  })

  it('says so when there is no such object, and leaves open what depends on who asks', async () => {
    const gone = await explained(['--role', 'member', '--subject', 'bob', 'GET', '/tasks/{id}', '--object', 'gone'])
    expect(gone.answer?.status).to.equal(404)
    expect(gone.reason).to.equal('no object has the id gone; the rules would let the caller ask')
    const list = await explained(['--role', 'member', '--subject', 'bob', 'GET', '/tasks', '--object', 'gone'])
    expect([list.outcome, list.answer?.status, list.rules.length > 0]).to.deep.equal(['allow', 200, true])
    expect(list.reason).to.equal('the list is answered, but no object has the id gone')
    const anybody = await explained(['--role', 'member', 'GET', '/tasks/{id}', '--object', ids.get('tasks')?.[1] ?? ''])
    expect(anybody.outcome).to.equal('depends')
    expect(anybody.relations.map(({ holds }) => holds)).to.deep.equal([null, null, false])
  })

  it('says of a time in the past that the objects are those of today', async () => {
    const [, task = ''] = ids.get('tasks') ?? []
    const asked = ['--role', 'member', '--subject', 'bob', 'GET', '/tasks/{id}', '--object', task]
    const note = 'the objects are those of today: `access who --at` asks their histories'
    expect((await explained([...asked, '--at', '2026-01-01'])).notes).to.include(note)
    expect((await explained([...asked, '--at', '2999-01-01'])).notes).not.to.include(note)
    expect((await explained(asked)).notes).not.to.include(note)
  })

  it('makes no database, and changes none', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'explain-'))
    const args = ['--role', 'member', '--subject', 'alice', 'GET', '/api/v1/notes/{id}', '--object', 'x']
    const missing = await run({ ...folders, database: join(folder, 'none.db') }, args)
    expect(missing.stderr).to.include('there is no such file')
    expect(await readdir(folder)).to.deep.equal([])

    const { length } = await copyOf(folder)
    const before = await readFile(join(folder, 'copy.db'))
    expect(before.length).to.equal(length)
    const found = await run({ ...folders, database: join(folder, 'copy.db') }, args)
    expect(found.stdout).to.include('404')
    expect(await readdir(folder)).to.deep.equal(['copy.db'])
    expect(before.equals(await readFile(join(folder, 'copy.db')))).to.equal(true)

    await writeFile(join(folder, 'text.db'), 'this is no database, however long it is'.repeat(100))
    const unusable = await run({ ...folders, database: join(folder, 'text.db') }, args)
    expect(unusable.stderr).to.match(/^ToolError: the database can't be read \(file is not a database\): /)
    await removeFolder(folder)
  })

  it('explains the first decision record of a log', async () => {
    const [, note = ''] = ids.get('notes') ?? []
    await server.ask('GET', `/api/v1/notes/${note}`, { token: await server.token('bob', 'member') })
    const line = JSON.stringify(await server.lastDecision({ method: 'GET' }))
    const file = await logOf(`not JSON\n{"msg":"listening"}\n${line}\n{"record":"decision"}\n`)
    const { stdout } = await run(folders, ['--record', file])
    expect(stdout).to.include('Record    request ').and.to.include('(the policy explained here)')
    expect(stdout).to.include('these files give the same answer: 403')
  })

  it('says what is another one under other files, and what the policy did not decide', async () => {
    const token = await server.token('sam', 'support')
    const [, , order = ''] = ids.get('orders') ?? []
    const asked = async (body: unknown) => {
      await server.ask('PATCH', `/api/orders/${order}`, { token, body })
      return JSON.stringify(await server.lastDecision({ method: 'PATCH' }))
    }
    const shipped = await asked({ status: 'shipped' })
    const note = await asked({ note: 'n' })
    const faulty = await asked({ status: 7 })
    expect(await compared(shipped)).to.include({ sameRevision: true, sameOutcome: true, sameRules: true })
    expect(await compared(note)).to.include({ sameRevision: true, sameOutcome: true, status: 403 })
    expect(await compared(faulty)).to.include({ sameRevision: true, sameOutcome: null, status: 400 })

    const rules = join(folders.policies, 'policy.csv')
    const text = await readFile(rules, 'utf8')
    await writeFile(rules, text.replace(/^p, support, orders, update.*$/m, '# gone'))
    expect(await compared(shipped)).to.include({ sameRevision: false, sameOutcome: false, sameRules: false })
    await writeFile(rules, text.replace(/^(p, support, orders, update, *any, )progress/m, '$1*'))
    expect(await compared(note)).to.include({ sameRevision: false, sameOutcome: false })
    await writeFile(rules, text)
  })

  it('refuses a record that the server has not written', async () => {
    for (const line of ['{"record":"decision"}', '{"record":"decision","status":200,"method":1}']) {
      const { failed, stderr } = await run(folders, ['--record', await logOf(line)])
      expect(failed).to.equal(true)
      expect(stderr).to.match(/^ToolError: the decision record has no usable `\w+`: [^\n]+$/)
    }
  })

  it('guesses nothing of a record whose caller a mask hides', async () => {
    await server.ask('GET', '/profile', { token: await server.token('bob', 'member') })
    const record = await server.lastDecision({ method: 'GET' })
    for (const hidden of [{ subject: '***' }, { roles: ['***'] }]) {
      const { stderr } = await run(folders, ['--record', await logOf(JSON.stringify({ ...record, ...hidden }))])
      expect(stderr).to.include(`masks.yaml hides the ${Object.keys(hidden)} of the record`)
    }
  })

  async function explained(args: readonly string[]): Promise<Explanation> {
    const { stdout, stderr } = await run(folders, [...args, '--format', 'json'])
    expect(stderr).to.equal('')
    return JSON.parse(stdout)
  }

  async function compared(line: string): Promise<Explanation['record']> {
    const { stdout, stderr } = await run(folders, ['--record', await logOf(line), '--format', 'json'])
    expect(stderr).to.equal('')
    return JSON.parse(stdout).record
  }

  async function logOf(text: string): Promise<string> {
    const file = join(server.folder, 'log')
    await writeFile(file, text)
    return file
  }

  /** As a server leaves its file: without a write-ahead log. */
  async function copyOf(folder: string): Promise<Buffer> {
    const copy = await startWorld()
    await putObjects(copy)
    const kept = join(folder, 'copy.db')
    await copy.app.drain()
    await copyFile(join(copy.folder, 'data/sallyport.db'), kept)
    await removeFolder(copy.folder)
    return readFile(kept)
  }
})
