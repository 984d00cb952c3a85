/** What keeps a change of the policy from being made is said in one sentence, and leaves nothing behind. */
import { existsSync } from 'node:fs'
import { appendFile, cp, mkdir, readdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { finish } from '../../src/base/files/durable-file.ts'
import { ToolError } from '../../src/tools/load-policy.ts'
import { readContent } from '../../src/tools/release/content.ts'
import { obstacle } from '../../src/tools/release/folder/lock.ts'
import { putInForce } from '../../src/tools/release/folder/put-in-force.ts'
import { readHistory } from '../../src/tools/release/version.ts'
import { type Ended, ROOT, sallyport } from '../command.ts'
import { digestIn, Folders } from './fixture.ts'

describe('a change of the policy that can not be made', () => {
  let folders: Folders
  beforeEach(async () => {
    folders = await Folders.make()
  })
  afterEach(() => folders.remove())

  const policy = (...args: readonly string[]) => run(args, { POLICIES: folders.live })

  it('is said as a sentence where the system refuses to write', () => {
    const system = (code: string) => Object.assign(new Error(`${code}: /policies/.unfinished-1`), { code })
    const told = ['EACCES', 'EROFS', 'ENOSPC'].map((code) => (obstacle('policies', system(code)) as Error).message)
    expect(told).to.deep.equal([
      "policies can't be written (permission denied): run the command as a user who may write there",
      "policies can't be written (read-only file system): mount its file system writable",
      "policies can't be written (no space left on device): make room, and run the command again",
    ])
    const elsewhere = Object.assign(system('EROFS'), { path: '/shared/.unfinished-1' })
    expect((obstacle('policies', elsewhere) as Error).message).to.contain('/shared can')
    expect(obstacle('policies', system('EACCES'))).to.be.instanceOf(ToolError)
    const other = system('EIO')
    expect(obstacle('policies', other)).to.equal(other)
  })

  it('is refused while a file stands there that no policy has, in the new folder or in the one in force', async () => {
    const next = await folders.candidate('next', '# next')
    await writeFile(join(next, 'mask.yaml'), '')
    const refused = await policy('apply', next, '--yes')
    expect([refused.code, refused.stdout.includes('next/mask.yaml:1:1: error: no policy has')]).to.deep.equal([1, true])
    await unlink(join(next, 'mask.yaml'))
    await writeFile(join(folders.live, 'limits.yml'), '')
    const beside = await policy('apply', next, '--yes')
    expect([beside.code, beside.stdout.includes('policies/limits.yml:1:1: error')]).to.deep.equal([1, true])
    await unlink(join(folders.live, 'limits.yml'))
    expect((await policy('apply', next, '--yes')).code).to.equal(0)
  })

  it('leaves no half of what it was writing', async () => {
    const fails = finish(join(folders.live, 'policy.csv'), async (unfinished) => {
      await mkdir(unfinished)
      await writeFile(join(unfinished, 'half'), 'half')
      throw new Error('the disk is full')
    })
    expect(await fails.catch((error) => error.message)).to.equal('the disk is full')
    expect((await readdir(folders.live)).filter((name) => name.startsWith('.'))).to.deep.equal([])
  })

  it('is refused when somebody saves a file while the new version is written', async () => {
    const content = await readContent(await folders.candidate('a', '# a'))
    const over = await digestIn(folders.live)
    // Once the files of before are kept, and the new ones are being written.
    const edit = (async () => {
      while (!existsSync(join(folders.live, '.versions/.current'))) await setImmediate()
      await appendFile(join(folders.live, 'policy.csv'), '# meanwhile\n')
    })()
    const change = { content, over, kind: 'applied', reason: undefined, of: undefined, now: new Date() } as const
    const refused = await putInForce(folders.home, change).catch((error) => error.message)
    await edit
    expect(refused).to.contain('have changed in the meantime, so nothing was done')
    expect(await readFile(join(folders.live, 'policy.csv'), 'utf8')).to.contain('# meanwhile\n')
    expect((await readHistory(folders.home)).filter(({ kind }) => kind === 'applied')).to.deep.equal([])
  })

  it('back to a version that the schemas do not fit any more is refused, and the places are in that version', async () => {
    const schemas = join(folders.root, 'schemas')
    await cp(join(ROOT, 'schemas'), schemas, { recursive: true })
    const candidate = await folders.candidate('new', '')
    const views = await readFile(join(candidate, 'views.yaml'), 'utf8')
    await writeFile(join(candidate, 'views.yaml'), views.replaceAll(', bio]', ']'))
    expect((await policy('apply', candidate, '--yes')).code).to.equal(0)
    const users = JSON.parse(await readFile(join(schemas, 'users.json'), 'utf8'))
    delete users.properties.bio
    await writeFile(join(schemas, 'users.json'), JSON.stringify(users))
    const before = await digestIn(folders.live)
    const { code, stdout } = await policy('rollback', '--yes', '--schemas', schemas)
    expect(code).to.equal(1)
    expect(stdout).to.match(/policies\/\.versions\/0001-[0-9a-f]{16}\/views\.yaml:\d+:\d+: error: `users` has no field/)
    expect(stdout).to.contain('bio]').and.to.contain('Nothing was changed').and.not.to.contain('sallyport-release')
    expect(await digestIn(folders.live)).to.equal(before)
  })

  it('takes a folder with spaces, one that is a link, one inside of the folder in force, and files that are links', async () => {
    const inside = join(folders.live, 'next one')
    await cp(await folders.candidate('x', '# inside'), inside, { recursive: true })
    const linked = join(folders.root, 'linked')
    await symlink(folders.live, linked)
    await unlink(join(inside, 'roles.yaml'))
    await symlink(join(ROOT, 'policies/roles.yaml'), join(inside, 'roles.yaml'))
    const { code, stdout } = await run(['apply', inside, '--yes'], { POLICIES: linked })
    expect([code, stdout.includes(`is in force in ${linked}.`)]).to.deep.equal([0, true])
    expect(await digestIn(folders.live)).to.equal(await digestIn(inside))
    expect((await run(['apply', folders.live, '--yes'], { POLICIES: linked })).code).to.equal(2)
  })
})

function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return sallyport(['policy', ...args], { cwd: ROOT, env })
}
