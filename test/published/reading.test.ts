/** Commands that only read a policy read published versions too: verified, with the same results as from a folder. */
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { addRules } from '../policy-text.ts'
import { type Ended, policy } from '../release/command.ts'
import { until } from '../until.ts'
import { PublishedPolicies } from './fixture.ts'

const ROOT = new URL('../..', import.meta.url).pathname
/** Twice, which `check` warns of. */
const FOR_GUESTS = 'p, anonymous, notes, list, any, *, allow\n'.repeat(2)
const SIGNED = "update policy_versions set signed = signed || 'x' where number ="

describe('published versions', () => {
  let published: PublishedPolicies
  let next: string
  before(async () => {
    published = await PublishedPolicies.make()
    // `apply` takes blocks, and no comments.
    await writeFile(join(published.folder, 'blocked.txt'), '')
    next = join(published.root, 'next')
    await cp(published.folder, next, { recursive: true })
    await addRules(join(next, 'policy.csv'), FOR_GUESTS)
    await published.publish()
    await published.publish(FOR_GUESTS)
  })
  after(() => published.remove())

  const run = (args: readonly string[], env: Record<string, string> = {}): Promise<Ended> =>
    policy(args, { ...published.environment(), ...env })

  const READERS: Readonly<Record<string, (place: string) => readonly string[]>> = {
    check: (place) => ['check', place],
    diff: (place) => ['diff', published.folder, place],
    matrix: (place) => ['matrix', '--policies', place, '--resource', 'notes', '--format', 'csv'],
    explain: (place) => ['explain', '--policies', place, 'GET', '/api/v1/notes'],
  }
  for (const [name, args] of Object.entries(READERS)) {
    it(`can be read by ${name}, as from a folder`, async () => {
      const plain = ({ code, stdout, stderr }: Ended) => {
        return [code, `${stdout}${stderr}`.replaceAll(/database:[0-9a-f]*|\S*\/(policies|next)\b/g, 'PLACE')]
      }
      const [fromFolder, older] = [plain(await run(args(next))), plain(await run(args(published.folder)))]
      expect(plain(await run(args('database:2')))).to.deep.equal(fromFolder)
      expect(plain(await run(args('database:')))).to.deep.equal(fromFolder)
      expect(plain(await run(args('database:1')))).to.deep.equal(older)
      expect(older).not.to.deep.equal(fromFolder)
    })
  }

  it('are read without a place where POLICIES names the database, and by their revision', async () => {
    const { versions } = JSON.parse((await run(['history', '--to', 'database:', '--format', 'json'])).stdout)
    expect(versions).to.have.length(2)
    const [explained, older] = await Promise.all([
      run(['explain', 'GET', '/api/v1/notes']),
      run(['explain', '--policies', `database:${versions[1].revision}`, 'GET', '/api/v1/notes']),
    ])
    expect(explained.stdout).to.contain('200').and.to.contain('anonymous, notes, list')
    expect(older.stdout).to.contain('401')
    const exported = await run(['export', join(published.root, 'x'), '--from', `database:${versions[1].revision}`])
    expect(exported.stdout).to.contain('Version 1, revision ')
  })

  it('are refused where there is no such version, no key, or another key', async () => {
    expect(await run(['check', 'database:9'])).to.deep.include({ code: 2, stdout: '' })
    expect((await run(['check', 'database:9'])).stderr).to.contain('there is no version `9`')
    expect((await run(['check', 'database:0123456789abcdef'])).stderr).to.contain(
      'there is no version `0123456789abcdef`',
    )
    expect((await run(['check', 'database:x'])).stderr).to.equal(
      'sallyport: database:x is neither a directory nor a published version: write `database:` for the last version, ' +
        'or `database:` with a number or a revision of `policy history`\n',
    )
    expect((await run(['check'], { POLICY_PUBLIC_KEYS: '' })).stderr).to.contain('POLICY_PUBLIC_KEYS is not set')
    const other = await run(['matrix'], { POLICY_PUBLIC_KEYS: published.publicKey('two') })
    expect(other).to.deep.include({ code: 2, stdout: '' })
    expect(other.stderr).to.contain('[version-key]')
  })

  it('are written to a new folder, all files or none', async () => {
    const folder = join(published.root, 'copy')
    const ended = await run(['export', folder, '--from', 'database:2', '--format', 'json'])
    const shape = JSON.parse(await readFile(join(ROOT, 'docs/schemas/policy-export.schema.json'), 'utf8'))
    const validate = new Ajv2020().compile(shape)
    const output = JSON.parse(ended.stdout)
    expect(validate(output), JSON.stringify(validate.errors)).to.equal(true)
    expect((await readdir(folder)).toSorted()).to.deep.equal((await readdir(published.folder)).toSorted())
    const written = JSON.parse((await run(['matrix', '--policies', folder, '--format', 'json'])).stdout)
    expect(written.revision).to.equal(output.revision)
    await mkdir(join(published.root, 'empty'))
    expect((await run(['export', join(published.root, 'empty')])).code).to.equal(0)
    await writeFile(join(folder, 'own.txt'), 'mine')
    for (const [target, told] of [
      [folder, 'is not an empty folder'],
      [join(folder, 'own.txt'), 'is not an empty folder'],
      [join(folder, 'none', 'copy'), 'is not a directory'],
    ] as const) {
      const refused = await run(['export', target])
      expect([refused.code, refused.stdout]).to.deep.equal([2, ''])
      expect(refused.stderr).to.contain(told)
    }
    const nowhere = await run(['export', join(published.root, 'new')], { POLICIES: 'policies' })
    expect(nowhere.stderr).to.contain('`policies` names no published version')
    expect(await readdir(published.root)).not.to.include('new')
  })

  it('that somebody changed in the database are neither shown nor written', async () => {
    const changed = await PublishedPolicies.make()
    try {
      await changed.publish()
      await changed.publish(FOR_GUESTS)
      changed.tamper(`${SIGNED} 2`)
      const env = changed.environment()
      for (const args of [['check'], ['export', join(changed.root, 'new')], ['explain', 'GET', '/api/v1/notes']]) {
        const { code, stdout, stderr } = await policy(args, env)
        expect([code, stdout]).to.deep.equal([2, ''])
        expect(stderr).to.contain('version 2 has no valid signature')
      }
      expect(await readdir(changed.root)).not.to.include('new')
      expect((await policy(['check', 'database:1'], env)).code).to.equal(0)
      changed.tamper("update policy_files set content = content || '# changed'")
      expect((await policy(['check', 'database:1'], env)).stderr).to.contain('[version-file]')
    } finally {
      await changed.remove()
    }
  })

  it('explain the record of a request that an earlier one decided, also with blocks of a later one', async () => {
    const past = await PublishedPolicies.make()
    try {
      await past.publish()
      const uncheckedBecause = 'the published policy grants more than the folder of the checker'
      const server = await past.start({}, { uncheckedBecause })
      const log = join(server.folder, 'data', 'decisions.log')
      const env = past.environment({ DECISION_LOG_FILE: log, DATA_DIR: join(server.folder, 'data') })
      await server.ask('GET', '/api/v1/notes')
      await past.publish(FOR_GUESTS)
      await until(async () => (await server.ask('GET', '/api/v1/notes')).status === 200)
      await past.publish('x, nothing\n')
      await past.block('mallory')
      await until(() => server.app.policy.active.blocked.has('mallory'))
      await server.ask('GET', '/api/v1/notes')
      const records = await server.decisions()
      const explained = async (record: Record<string, unknown> | undefined) => {
        const id = String(record?.requestId)
        await until(async () => (await readFile(log, 'utf8')).includes(id))
        const { code, stdout, stderr } = await policy(['explain', '--request-id', id], env)
        expect([code, stderr]).to.deep.equal([0, ''])
        return stdout
      }
      const revisions = records.map(({ revision }) => revision)
      expect(new Set(revisions).size).to.equal(3)
      expect(await explained(records[0])).to.contain('401')
      for (const record of [records[revisions.lastIndexOf(revisions[0]) + 1], records.at(-1)]) {
        expect(await explained(record))
          .to.contain('200')
          .and.to.contain('anonymous, notes, list')
          .and.to.contain('what the present policy would answer is not known: database:4/policy.csv:77:1')
      }
      const replayed = await policy(['replay', log, '--candidate', 'database:1', '--baseline', 'database:2'], env)
      expect([replayed.code, replayed.stderr]).to.deep.equal([1, ''])
    } finally {
      await past.remove()
    }
  })
})
