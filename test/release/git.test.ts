/** In a git work tree the files of a policy stay files, and still take over at one moment, with a history and a way back. */
import { execFileSync } from 'node:child_process'
import { appendFile, chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { type PolicyContent, readContent } from '../../src/tools/release/content.ts'
import { homeOf } from '../../src/tools/release/folder/layout.ts'
import { putInForce } from '../../src/tools/release/folder/put-in-force.ts'
import { readHistory } from '../../src/tools/release/version.ts'
import { addRules } from '../policy-text.ts'
import { until } from '../request/until.ts'
import { startTestServer } from '../server.ts'
import { policy } from './command.ts'
import { apply, asIn01, digestIn, Folders, homeIn } from './fixture.ts'

const DENY = 'p, support, orders, read, any, *, deny'

describe('a policy directory in a git work tree', () => {
  let folders: Folders
  beforeEach(async () => {
    folders = await Folders.make()
    await writeFile(join(folders.root, '.gitignore'), 'data/\ncandidate/\n')
    await git('init', '-q')
    await git('add', '.')
    await git('-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit', '-qm', 'the shipped policy')
  })
  afterEach(() => folders.remove())

  const git = async (...args: readonly string[]) => execFileSync('git', args, { cwd: folders.root, encoding: 'utf8' })
  const run = (...args: readonly string[]) =>
    policy(args, { POLICIES: folders.live, DATA_DIR: join(folders.root, 'data') })
  const told = async () => {
    const home = await homeOf(folders.live, join(folders.root, 'data'))
    return (await readHistory(home)).map(({ number, kind }) => `${number} ${kind}`)
  }
  const names = async () => (await readdir(folders.live)).toSorted()

  it('keeps its files: git sees those that changed and nothing else, with every command', async () => {
    const before = await names()
    const shipped = await digestIn(folders.live)
    const candidate = await folders.candidate('candidate', DENY)
    expect((await run('apply', candidate, '--yes')).stdout).to.contain('Version 2, revision ')
    expect(await git('status', '--porcelain')).to.equal(' M policies/policy.csv\n')
    expect(await digestIn(folders.live)).to.equal(await digestIn(candidate))
    expect((await run('rollback', '--yes')).code).to.equal(0)
    expect(await git('status', '--porcelain')).to.equal('')
    expect(await digestIn(folders.live)).to.equal(shipped)
    expect((await run('promote', '--candidate', candidate, '--yes')).code).to.equal(0)
    expect((await run('block', 'user:mallory')).code).to.equal(0)
    expect(await git('status', '--porcelain')).to.equal(' M policies/blocked.txt\n M policies/policy.csv\n')
    expect(await names()).to.deep.equal(before)
    const { versions } = JSON.parse((await run('history', '--format', 'json')).stdout)
    expect(versions.map(({ kind }: { kind: string }) => kind)).to.deep.equal([
      'applied',
      'rolled-back',
      'applied',
      'kept',
    ])
    expect(await readdir(join(folders.root, 'data/policy-versions'))).to.deep.equal(['..%2Fpolicies'])
  })

  it('keeps what somebody edited by hand as a version, and files that come and go', async () => {
    const shipped = await readContent(folders.live)
    await apply(folders.live, new Map([...shipped, ['masks.yaml', Buffer.from('fields: [address]\n')]]))
    expect(await names()).to.include('masks.yaml')
    await appendFile(join(folders.live, 'views.yaml'), '# by hand\n')
    const edited = await digestIn(folders.live)
    await chmod(join(folders.live, 'policy.csv'), 0o664)
    await addRules(join(folders.live, 'policy.csv'), DENY)
    await apply(folders.live, shipped)
    expect(await told()).to.deep.equal(['1 kept', '2 applied', '3 kept', '4 applied'])
    expect(await names()).not.to.include('masks.yaml')
    expect(await digestIn(folders.live)).not.to.equal(edited)
    expect(await git('status', '--porcelain')).to.equal('')
  })

  for (const layout of ['of today', 'of 0.1'])
    it(`that held versions in the layout ${layout} keeps its history, outside the folder`, async () => {
      const candidate = await readContent(await folders.candidate('candidate', DENY))
      const change = { kind: 'applied', reason: undefined, of: undefined, now: new Date() } as const
      const over = await digestIn(folders.live)
      await putInForce(homeIn(folders.live), { ...change, content: candidate, over })
      if (layout === 'of 0.1') await asIn01(folders.live)
      expect(await names()).to.include('.versions')
      expect(await told()).to.deep.equal(['1 kept', '2 applied'])
      await apply(folders.live, await readContent(await folders.candidate('candidate', '# x')))
      expect(await told()).to.deep.equal(['1 kept', '2 applied', '3 applied'])
      expect((await names()).filter((name) => name.startsWith('.'))).to.deep.equal([])
      expect(await git('status', '--porcelain')).to.equal(' M policies/policy.csv\n')
    })

  it('leaves a link that somebody made as it is', async () => {
    await mkdir(join(folders.root, 'shared'))
    await cp(join(folders.live, 'limits.yaml'), join(folders.root, 'shared/limits.yaml'))
    await rm(join(folders.live, 'limits.yaml'))
    await symlink('../shared/limits.yaml', join(folders.live, 'limits.yaml'))
    const content = await readContent(folders.live)
    const limits = Buffer.from(`${content.get('limits.yaml')}# more\n`)
    await apply(folders.live, new Map([...content, ['limits.yaml', limits]]))
    expect(String(await readFile(join(folders.root, 'shared/limits.yaml')))).to.equal(String(limits))
    expect(await git('status', '--porcelain')).to.contain(' T policies/limits.yaml\n')
  })

  it('of a command that was killed half-way rules by the files of before, and the next command goes on', async () => {
    const shipped = await readContent(folders.live)
    const before = await digestIn(folders.live)
    await halfWay(folders.live, shipped)
    expect(await digestIn(folders.live)).to.equal(before)
    expect((await readPolicyFiles(folders.live))['policy.csv'].text).not.to.contain('p, everyone, *, *')
    const check = await run('check', folders.live)
    expect(check.stdout).to.contain('a `policy apply` has not finished, so the previous files are in force')
    // Also where the files are those of before, there is something to do: what was begun is taken back.
    await cp(join(folders.live, '.before'), join(folders.root, 'candidate'), { recursive: true })
    await writeFile(join(folders.root, 'candidate/blocked.txt'), '')
    expect((await run('apply', join(folders.root, 'candidate'), '--yes')).code).to.equal(0)
    expect(await git('status', '--porcelain')).to.equal('')
    expect(await digestIn(folders.live)).to.equal(before)
  })

  it('takes back what it began where a file can not be written', async () => {
    // A path has room for the file, and none for the longer name of a draft beside it.
    const folder = await folderOfLength(join(folders.root, 'shared'), 4060)
    await cp(join(folders.live, 'limits.yaml'), join(folder, 'limits.yaml'))
    await rm(join(folders.live, 'limits.yaml'))
    await symlink(join(folder, 'limits.yaml'), join(folders.live, 'limits.yaml'))
    const candidate = await folders.candidate('candidate', DENY)
    await appendFile(join(candidate, 'limits.yaml'), '# more\n')
    const [before, bytes] = [await digestIn(folders.live), await readFile(join(folders.live, 'policy.csv'))]
    const failed = await apply(folders.live, await readContent(candidate)).catch((error) => error.code)
    expect(failed).to.equal('ENAMETOOLONG')
    expect(await names()).not.to.include('.before')
    expect(await digestIn(folders.live)).to.equal(before)
    expect(await readFile(join(folders.live, 'policy.csv'))).to.deep.equal(bytes)
    expect(await told()).to.deep.equal(['1 kept'])
  })

  it('that a killed command left is put in order by rollback: the version in force stays', async () => {
    await apply(folders.live, await readContent(await folders.candidate('candidate', DENY)))
    const inForce = await readContent(folders.live)
    const before = await digestIn(folders.live)
    await halfWay(folders.live, inForce)
    const { code, stdout } = await run('rollback', '--yes')
    expect([code, stdout.includes('Version 3, revision ')]).to.deep.equal([0, true])
    expect(await names()).not.to.include('.before')
    expect(await digestIn(folders.live)).to.equal(before)
    expect(await told()).to.deep.equal(['1 kept', '2 applied', '3 rolled-back'])
  })

  it('has one history, however long the way to it, and whether or not DATA_DIR was there before', async () => {
    const deep = join(folders.root, ...Array.from({ length: 6 }, () => 'Документы отдела'))
    await cp(folders.live, join(deep, 'policies'), { recursive: true })
    await mkdir(join(folders.root, 'a/b/c'), { recursive: true })
    await symlink('a/b/c', join(folders.root, 'link'))
    const env = { POLICIES: join(deep, 'policies'), DATA_DIR: join(folders.root, 'link/data') }
    const candidate = await folders.candidate('candidate', DENY)
    expect((await policy(['apply', candidate, '--yes'], env)).stdout).to.contain('Version 2, revision ')
    const { versions } = JSON.parse((await policy(['history', '--format', 'json'], env)).stdout)
    expect(versions.length).to.equal(2)
    expect((await readdir(join(folders.root, 'link/data/policy-versions'))).length).to.equal(1)
  })

  it('is watched by a server that never sees a half, and says that a command did not end', async () => {
    const server = await startTestServer({ demo: true })
    try {
      const live = join(server.folder, 'policies')
      execFileSync('git', ['init', '-q'], { cwd: server.folder })
      const sam = await server.token('sam', 'support')
      const order = (await server.ask('GET', '/api/orders', { token: sam })).body.items[0].id
      const read = () => server.ask('GET', `/api/orders/${order}`, { token: sam })
      const shipped = await readContent(live)
      const csv = join(server.folder, 'policy.csv')
      await cp(join(live, 'policy.csv'), csv)
      await addRules(csv, DENY)
      const denying = new Map([...shipped, ['policy.csv', await readFile(csv)] as const])
      for (const [content, status] of [
        [denying, 403],
        [shipped, 200],
        [denying, 403],
      ] as const) {
        await apply(live, content)
        await until(read, (answer) => answer.status === status)
      }
      expect(server.log.filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
      const { revision } = server.app.policy.active
      await halfWay(live, denying)
      const ready = await until(
        () => server.ask('GET', '/readyz'),
        ({ body }) => body.status === 'degraded',
      )
      expect(server.app.policy.faults.map(String).join()).to.contain('`policy apply` has not finished')
      expect([ready.status, server.app.policy.active.revision]).to.deep.equal([200, revision])
      expect((await read()).status).to.equal(403)
      await apply(live, shipped)
      await until(read, (answer) => answer.status === 200)
      await until(
        () => server.ask('GET', '/readyz'),
        ({ body }) => body.status === 'ok',
      )
    } finally {
      await server.stop()
    }
  })

  /** A new folder whose path has so many characters. */
  async function folderOfLength(path: string, length: number): Promise<string> {
    const missing = length - path.length
    if (missing > 0) return folderOfLength(join(path, 'x'.repeat(missing < 202 ? missing - 1 : 100)), length)
    await mkdir(path, { recursive: true })
    return path
  }

  /** As a command leaves it that is killed while it exchanges the files. */
  async function halfWay(live: string, content: PolicyContent): Promise<void> {
    const before = join(live, '.before')
    await mkdir(before)
    for (const [name, bytes] of content) await writeFile(join(before, name), bytes)
    await addRules(join(live, 'policy.csv'), 'p, everyone, *, *, any, *, allow')
    await writeFile(join(live, 'masks.yaml'), 'fields: [address]\n')
  }
})
