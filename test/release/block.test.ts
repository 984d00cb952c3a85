/** policy block says when nobody here has the id, takes an e-mail address, and prints nothing that a terminal obeys. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { policy } from './command.ts'

describe('policy block', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())
  beforeEach(() => writeFile(file(), ''))

  const file = () => join(server.folder, 'policies/blocked.txt')
  const run = (...args: readonly string[]) =>
    policy(args, {
      POLICIES: join(server.folder, 'policies'),
      SCHEMAS: join(server.folder, 'schemas'),
      DATA_DIR: join(server.folder, 'data'),
    })
  const blocked = async () => (await readFile(file(), 'utf8')).split('\n').filter((line) => /^[^#]/.test(line))

  it('says when no user has the id, and which one is near; the block holds', async () => {
    const { code, stdout, stderr } = await run('block', 'user:alise')
    expect([code, stdout]).to.deep.equal([0, 'user:alise is blocked.\n'])
    expect(stderr).to.equal('sallyport: no user here has the id `alise`; did you mean `alice`?\n')
    expect(await blocked()).to.deep.equal(['user:alise'])
    expect((await run('block', 'user:alice')).stderr).to.equal('')
    expect((await run('block', 'user:somebody-else')).stderr).to.equal(
      'sallyport: no user here has the id `somebody-else`\n',
    )
  })

  it('takes an e-mail address, and tells an id that is one', async () => {
    expect((await run('block', 'alice@example.com')).stdout).to.equal('user:alice is blocked.\n')
    expect(await blocked()).to.deep.equal(['user:alice'])
    const { stdout, stderr } = await run('block', 'user:bob@example.com')
    expect(stdout).to.equal('user:bob@example.com is blocked.\n')
    expect(stderr).to.contain('it is the e-mail address of `user:bob`')
    const unknown = await run('block', 'alise@example.com')
    expect([unknown.code, unknown.stdout]).to.deep.equal([2, ''])
    expect(unknown.stderr).to.equal(
      'sallyport: no user has the e-mail address `alise@example.com`; write user:<id>; did you mean `alice@example.com`?\n',
    )
  })

  it('is taken back by the e-mail address too, and by an id that no caller can have', async () => {
    await run('block', 'user:alice')
    expect((await run('unblock', 'alice@example.com')).stdout).to.equal('user:alice is no longer blocked.\n')
    await run('block', 'user:bob')
    expect((await run('unblock', 'user:bob@example.com')).stdout).to.equal('user:bob is no longer blocked.\n')
    expect((await run('unblock', 'user:bob@example.com')).stdout).to.equal('user:bob was not blocked.\n')
    await writeFile(file(), '"user:user:eve"\n')
    expect((await run('unblock', 'user:user:eve')).stdout).to.equal('user:user:eve is no longer blocked.\n')
    expect(await blocked()).to.deep.equal([])
    const { code, stderr } = await run('unblock', 'alice')
    expect([code, stderr]).to.deep.equal([
      2,
      'sallyport: `alice` names nobody; write user:<id>, or an e-mail address\n',
    ])
  })

  it('takes a day for its end, and says when there is no such day', async () => {
    expect((await run('block', 'user:bob', '--until', '2999-01-31')).code).to.equal(0)
    expect(await blocked()).to.deep.equal(['user:bob until=2999-01-31T00:00:00Z'])
    const { code, stderr } = await run('block', 'user:bob', '--until', '2999-02-29')
    expect([code, stderr.includes("`2999-02-29` names a day that doesn't exist")]).to.deep.equal([2, true])
  })

  it('refuses control characters, and prints none', async () => {
    for (const id of ['x\u001b[31m', 'a\nuser:b', 'c\u009b2J', 'd\u007f']) {
      const { code, stdout, stderr } = await run('block', `user:${id}`)
      expect([code, stdout, stderr]).to.deep.equal([
        2,
        '',
        'sallyport: the id is not valid; use 1 to 128 characters, no control characters, and no `user:` at the start\n',
      ])
      for (const text of Object.values(await run('unblock', `user:${id}`)).map(String)) {
        expect(text).not.to.match(/(?!\n)\p{Cc}/u)
        expect(text.split('\n').length).to.be.lessThan(3)
      }
    }
    const lines = await run('block', 'a@example.com\nsallyport: user:alice is blocked.')
    expect([lines.code, lines.stderr.split('\n').length]).to.deep.equal([2, 2])
    const misled = await run('block', '\u001b[31mx')
    expect(misled.stderr).to.contain('\\u{1b}[31mx').and.not.to.contain('\u001b')
    expect(await blocked()).to.deep.equal([])
  })

  it('works where there is no database, or no readable one', async () => {
    const env = { POLICIES: join(server.folder, 'policies'), DATA_DIR: join(server.folder, 'nowhere') }
    const { code, stdout, stderr } = await policy(['block', 'user:alise'], env)
    expect([code, stdout, stderr]).to.deep.equal([0, 'user:alise is blocked.\n', ''])
    const broken = { ...env, DATABASE_URL: `sqlite:${join(server.folder, 'policies/policy.csv')}` }
    expect((await policy(['block', 'user:alice'], broken)).code).to.equal(0)
    expect((await policy(['block', 'alice@example.com'], env)).stderr).to.contain('there is no database')
  })
})
