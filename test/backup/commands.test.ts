/** `sallyport backup`, `backup verify` and `restore` as people run them, beside a running server. */
import { mkdir, open, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Commands, ROOT, startCommands } from './commands.ts'

const KEY_TEXT = `AGE-SECRET-KEY-1${'Q'.repeat(58)}`

const SETTLE = {
  resource: 'orders',
  path: '/api/orders/{id}/settle',
  action: 'settle',
  set: { status: { value: 'shipped' } },
}

/** By path: what is in the files of the folder and those below it. */
async function filesIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  const texts = paths.map(async (path) => [relative(folder, path), await readFile(path, 'utf8')] as const)
  return Object.fromEntries(await Promise.all(texts))
}

/** Paths of the files that this process has open. */
async function openFiles(): Promise<readonly string[]> {
  const links = await readdir('/proc/self/fd')
  return Promise.all(links.map((one) => readlink(`/proc/self/fd/${one}`).catch(() => '')))
}

describe('the commands of backups', () => {
  let commands: Commands
  let server: TestServer
  let folder: string
  let run: Commands['run']

  before(async () => {
    commands = await startCommands()
    ;({ server, folder, run } = commands)
    await mkdir(join(server.folder, 'schemas/commands'), { recursive: true })
    await writeFile(join(server.folder, 'schemas/commands/settle.json'), JSON.stringify(SETTLE))
  })
  after(() => commands.stop())

  async function json(name: string, args: readonly string[], code = 0) {
    const ended = await run([...args, '--format', 'json'])
    expect(ended.code, ended.stderr).to.equal(code)
    const schema = JSON.parse(await readFile(join(ROOT, `docs/schemas/${name}.schema.json`), 'utf8'))
    const validate = new Ajv2020({ formats: { 'date-time': true } }).compile(schema)
    const result = JSON.parse(ended.stdout)
    expect(validate(result), `${name}: ${JSON.stringify(validate.errors)}`).to.equal(true)
    expect(validate({ ...result, more: 1 }), 'a member more').to.equal(false)
    return result
  }

  const mode = async (file: string) => ((await stat(file)).mode & 0o777).toString(8)

  it('make an archive for its owner alone, check it, and make a folder of it that a server can use', async () => {
    const archive = join(folder, 'one.tar')
    const made = await json('backup', ['backup', archive])
    expect(made).to.deep.include({ file: archive, encrypted: false, engine: 'sqlite', needs: [] })
    expect(made.database.objects.objects_orders).to.be.greaterThan(3)
    expect(await mode(archive)).to.equal('600')
    const verified = await json('backup-verify', ['backup', 'verify', archive])
    expect(verified.parts.map(({ name }: { name: string }) => name)).to.include.members([
      'keys/secret',
      'policies/blocked.txt',
    ])
    expect(verified.signingKeys.place).to.equal('database')
    expect(verified.signingKeys.secrets).to.have.length(1)
    const restored = join(folder, 'one')
    await json('restore', ['restore', archive, restored])
    expect((await readdir(restored)).toSorted()).to.deep.equal(['data', 'policies', 'schemas'])
    for (const name of ['data', 'data/keys']) expect(await mode(join(restored, name)), name).to.equal('700')
    for (const name of ['data/sallyport.db', 'data/keys/secret'])
      expect(await mode(join(restored, name)), name).to.equal('600')
    for (const name of ['policies', 'schemas'])
      expect(await filesIn(join(restored, name)), name).to.deep.equal(await filesIn(join(server.folder, name)))
    expect(await filesIn(join(restored, 'schemas')), 'a rule names its action').to.include.keys('commands/settle.json')
    const places = { DATA_DIR: join(restored, 'data'), SCHEMAS: join(restored, 'schemas') }
    const again = await startTestServer({ demo: true, env: places })
    try {
      const token = await server.token('ada', 'admin')
      const [there, here] = [
        await again.ask('GET', '/api/orders?limit=100', { token }),
        await server.ask('GET', '/api/orders?limit=100', { token }),
      ]
      expect([there.status, there.body]).to.deep.equal([200, here.body])
    } finally {
      await again.stop()
    }
  })

  it('write to the data folder when no file is named', async () => {
    const { file } = await json('backup', ['backup'])
    expect(file).to.match(new RegExp(`^${join(server.folder, 'data/backups')}/sallyport-.*\\.tar$`))
    expect(await mode(join(server.folder, 'data/backups'))).to.equal('700')
    await rm(file)
  })

  it('encrypt for a recipient, and need its key file', async () => {
    const { recipient } = await json('backup-key', ['backup', 'key', 'key'])
    expect(await mode(join(folder, 'key'))).to.equal('600')
    const made = await json('backup', ['backup', 'secret.age', '--recipient', recipient])
    expect(made.encrypted).to.equal(true)
    expect(await run(['backup', 'verify', 'secret.age'])).to.deep.include({ code: 2, stdout: '' })
    await json('backup-verify', ['backup', 'verify', 'secret.age', '--identity', 'key'])
    await json('restore', ['restore', 'secret.age', 'secret', '--identity', 'key'])
    expect(await run(['backup', 'key', 'key'])).to.deep.include({ code: 2 })
    expect((await run(['backup', 'verify', 'secret.age', '--identity', 'none'])).stderr).to.equal(
      "sallyport: the key file can't be read (no such file or directory); name a file that `sallyport backup key` made\n",
    )
    expect(await openFiles()).to.not.include(join(folder, 'secret.age'))
    await using _ = await open(join(folder, 'secret.age'))
    expect(await openFiles()).to.include(join(folder, 'secret.age'))
  })

  it('overwrite nothing', async () => {
    await writeFile(join(folder, 'mine'), 'mine')
    const sentence = (args: readonly string[]) =>
      run(args).then(({ code, stdout, stderr }) => `${code} ${stdout}${stderr}`)
    expect(await sentence(['backup', 'mine'])).to.match(/^2 sallyport: `.*mine` exists already; name another file\n$/)
    expect(await readFile(join(folder, 'mine'), 'utf8')).to.equal('mine')
    await run(['backup', 'two.tar'])
    await mkdir(join(folder, 'full'))
    await writeFile(join(folder, 'full/a'), '')
    expect(await sentence(['restore', 'two.tar', 'full'])).to.match(
      /^2 sallyport: `.*full` is not empty; name an empty folder\n$/,
    )
    expect(await readdir(join(folder, 'full'))).to.deep.equal(['a'])
  })

  it('refuse all but one of those that make an archive of one name at once, and that archive is whole', async () => {
    const ended = await Promise.all(
      Array.from({ length: 3 }, () => commands.start(['backup', 'same.tar', '--format', 'json'])),
    )
    expect(ended.map(({ code }) => code).toSorted()).to.deep.equal([0, 2, 2])
    for (const { code, stderr } of ended) {
      if (code === 2) expect(stderr).to.match(/^sallyport: `.*same.tar` exists already; name another file\n$/)
    }
    const made = JSON.parse(ended.find(({ code }) => code === 0)?.stdout ?? '')
    expect((await json('backup-verify', ['backup', 'verify', 'same.tar'])).createdAt).to.equal(made.createdAt)
    expect((await readdir(folder)).filter((name) => name.endsWith('.partial'))).to.deep.equal([])
  })

  it('leave no half key file when it can not be written', async () => {
    const { code, stderr } = await commands.start(['backup', 'key', 'half'], {}, 'ulimit -f 0')
    expect([code, stderr]).to.deep.equal([
      2,
      "sallyport: the folder `.` can't be written (file too large); name another one\n",
    ])
    expect(await readdir(folder)).to.not.include('half')
    expect((await run(['backup', 'key', 'half'])).code).to.equal(0)
  })

  it('say in one sentence what is wrong with their input', async () => {
    await run(['backup', 'three.tar'])
    const cases: readonly (readonly [readonly string[], RegExp, Readonly<Record<string, string>>?])[] = [
      [['backup', 'verify', 'none.tar'], /there is no archive `none.tar`/],
      [['backup', 'x', '--recipient', 'age1x'], /`age1x` is no recipient/],
      [['backup', 'x'], /there is no database/, { DATA_DIR: join(folder, 'nowhere') }],
      [['backup', 'x'], /is not a directory/, { POLICIES: join(folder, 'nowhere') }],
      [['backup', join(folder, 'nowhere/x')], /there is no folder `.*nowhere`; make it/],
      [['backup', 'three.tar/x'], /the folder `.*three.tar` can't be written \(a file is in the place of a folder\)/],
      [['backup', 'key', 'nowhere/key'], /there is no folder `nowhere`; make it/],
      [['backup', 'verify', '.'], /`.` is a folder; name a file that `sallyport backup` made/],
      [['restore', 'three.tar', 'three.tar'], /`three.tar` can't be written/],
      [
        ['backup', 'x'],
        /^(?!.*sesame).*is no database file; back it up with `pg_dump`, as docs\/backup.md says/,
        { DATABASE_URL: 'postgres://u:sesame@127.0.0.1/x' },
      ],
      [['restore', 'three.tar', 'there', '--identity', 'three.tar'], /is not encrypted/],
      // The key itself, in place of the name of its file.
      [
        ['restore', 'secret.age', 'there', '--identity', KEY_TEXT],
        /^(?!.*1QQQ).*the key file can't be read \(no such file or directory\)/,
      ],
      [['backup', 'x', '--recipient', KEY_TEXT], /^(?!.*1QQQ).*what --recipient says is no recipient/],
      [['backup', 'x', 'y'], /too many arguments/],
    ]
    for (const [args, message, env] of cases) {
      const { code, stdout, stderr } = await run(args, env)
      expect([code, stdout], args.join(' ')).to.deep.equal([2, ''])
      expect(stderr).to.match(message)
      expect(stderr).to.match(/^sallyport: [^\n]+\n$/)
    }
    for (const name of ['x', 'there']) expect(await readdir(folder)).to.not.include(name)
    expect((await readdir(folder)).filter((name) => name.endsWith('.partial'))).to.deep.equal([])
  })

  it('exit with 1 for a damaged archive, and make nothing of it', async () => {
    await run(['backup', 'bad.tar'])
    const bytes = await readFile(join(folder, 'bad.tar'))
    await writeFile(join(folder, 'bad.tar'), bytes.with(5000, (bytes[5000] ?? 0) ^ 4))
    const verified = await run(['backup', 'verify', 'bad.tar'])
    expect(verified.code).to.equal(1)
    expect(verified.stderr).to.match(
      /^sallyport: the archive `bad.tar` is damaged: the part `database\/sallyport.db` is not what was written; /,
    )
    const { faults } = await json('backup-verify', ['backup', 'verify', 'bad.tar'], 1)
    expect(faults).to.have.length(2)
    expect((await json('restore', ['restore', 'bad.tar', 'bad'], 1)).faults).to.deep.equal(faults)
    expect(await readdir(folder)).to.not.include('bad')
  })
})
