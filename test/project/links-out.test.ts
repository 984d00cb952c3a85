/** Every command that writes: nothing is written through a link that leads out of the project. */
import { globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { soak } from '../runs.ts'
import { startTestServer } from '../server.ts'
import { sumOf } from './projects.ts'

/** What of the project is a link, and a command that would write there. */
const WRITES: readonly (readonly [linked: string, command: string])[] = [
  ['new', 'init new --yes'],
  ['new', 'init new/below --yes'],
  ['new', 'eject new'],
  ['schemas', 'add resource tickets'],
  ['policies', 'add resource tickets'],
  ['policies/policy.csv', 'add resource tickets'],
  ['test', 'add resource tickets'],
  ['test/matrix', 'add resource tickets'],
  ['policies', 'add service shop'],
  ['policies/roles.yaml', 'add service shop'],
  ['test/matrix', 'add service shop'],
  ['new', 'matrix init --out new'],
  ['new', 'matrix init --missing --role member --out new/below'],
  ['test/matrix', 'matrix init --force'],
  ['test/matrix/users.csv', 'matrix init --force'],
  ['new', 'matrix test --report html=new/matrix.html'],
  ['page.html', 'matrix test --report html=page.html'],
  ['policies', 'policy apply candidate --yes'],
  ['policies/policy.csv', 'policy apply candidate --yes'],
  ['policies', 'policy rollback --yes'],
  ['policies', 'policy block user:bob --reason left'],
  ['policies/blocked.txt', 'policy block user:bob --reason left'],
  ['policies/blocked.txt', 'policy unblock user:eve'],
  ['new', 'backup new/monday.tar'],
  ['new', 'backup key new/backup.key'],
  ['new', 'restore archive.tar new'],
  ['new', 'restore archive.tar new/below'],
  ['new', 'data export --as admin --role admin --output new/all.ndjson'],
  ['new', 'data migrate --draft --from before --migrations new'],
  ['new', 'data migrate --draft --from before --migrations new/below'],
]

/** Files that write where no link of a project matters. */
const APART: readonly string[] = [
  // Beneath DATA_DIR, which belongs to the machine; or in a policy directory whose lock is held (lock.ts looks at it).
  'src/cli/policy/policy-place.ts',
  'src/tools/release/folder/layout.ts',
  'src/tools/release/version.ts',
  'src/tools/project/doctor/folders.ts',
  // In a folder that another file has looked at.
  'src/tools/backup/archive/write-archive.ts',
  'src/tools/backup/unfinished.ts',
  // A new file of the current folder.
  'src/cli/project.ts',
  // In temporary folders of their own.
  'src/tools/matrix/target/trial-target.ts',
  'src/tools/release/database-target.ts',
  'src/tools/temporary-files.ts',
  'src/tools/evidence/verify-evidence.ts',
  // Where GitHub's runner says.
  'src/tools/project/ci/workflow-commands.ts',
]

describe('a link that leads out of the project', () => {
  let folder: string
  let made: string
  const at = (...names: readonly string[]) => join(folder, ...names)

  before(async () => {
    made = await mkdtemp(join(tmpdir(), 'sallyport-linked-'))
    const project = join(made, 'project')
    const run = async (command: string) => {
      const ran = await sallyport(command.split(' '), { cwd: project })
      expect(ran.code, ran.stderr).to.equal(0)
    }
    await mkdir(project)
    await run('init --yes')
    const [policies = '', schemas = '', data = ''] = ['policies', 'schemas', 'data'].map((name) => join(project, name))
    const server = await startTestServer({ env: { POLICIES: policies, SCHEMAS: schemas, DATA_DIR: data } })
    await server.stop()
    await cp(join(project, 'policies'), join(project, 'candidate'), { recursive: true })
    await cp(join(project, 'schemas'), join(project, 'before'), { recursive: true })
    const rules = await readFile(join(project, 'policies/policy.csv'), 'utf8')
    await writeFile(join(project, 'candidate/policy.csv'), `# changed\n${rules}`)
    await run('policy block user:eve --reason left')
    await run('backup archive.tar')
    const schema = await readFile(join(project, 'schemas/users.json'), 'utf8')
    const more = schema.replace('"properties": {', '"properties": { "former": { "type": "string" },')
    await writeFile(join(project, 'before/users.json'), more)
    const matrix = await readFile(join(project, 'test/matrix/users.csv'), 'utf8')
    await writeFile(join(project, 'test/matrix/users.csv'), matrix.replace(/\n[^\n]+\n$/, '\n'))
    await writeFile(join(project, 'page.html'), 'mine')
  })
  after(() => removeFolder(made))

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-linked-'))
    await cp(join(made, 'project'), at('project'), { recursive: true })
    await mkdir(at('outside'))
  })
  afterEach(() => removeFolder(folder))

  /** Makes `linked` of the project a link to a place with the same content. */
  async function link(linked: string, place: string): Promise<void> {
    const target = join(place, 'target')
    await mkdir(place, { recursive: true })
    await rename(at('project', linked), target).catch(() => mkdir(target))
    await symlink(target, at('project', linked))
  }

  async function ranWith(linked: string, place: string, command: string) {
    if (command.startsWith('policy rollback')) {
      const applied = await sallyport(['policy', 'apply', 'candidate', '--yes'], { cwd: at('project') })
      expect(applied.code, applied.stderr).to.equal(0)
    }
    await link(linked, place)
    const before = await sumOf(place)
    const { code, stderr } = await sallyport(command.split(' '), { cwd: at('project') })
    return { code, stderr, isChanged: JSON.stringify(await sumOf(place)) !== JSON.stringify(before) }
  }

  for (const [index, [linked, command]] of WRITES.entries()) {
    const [one, other] = ['a git work tree', 'a folder without git'] as const
    for (const git of soak([one, other], [index % 2 === 0 ? one : other])) {
      it(`stops \`${command}\` in ${git}, where \`${linked}\` is one`, async () => {
        if (git === one) await mkdir(at('project/.git'))
        const { code, stderr, isChanged } = await ranWith(linked, at('outside'), command)
        // A file that the command reads first is refused with the words for reading; another place has no versions.
        const words =
          /is a link that leads out of the project, and nothing was changed: |out of the git work|no version/
        expect(stderr).to.match(words)
        expect({ code, isChanged }).to.deep.equal({ code: 2, isChanged: false })
      })
    }

    // The negative control: the command writes there.
    it(`and \`${command}\` writes where \`${linked}\` leads within the project`, async () => {
      const { stderr, isChanged } = await ranWith(linked, at('project/within'), command)
      expect({ stderr, isChanged }).to.deep.equal({ stderr, isChanged: true })
      expect(stderr).to.not.include('leads out')
    })
  }

  it('is obeyed where the command names the place itself', async () => {
    await link('schemas', at('outside'))
    const args = ['add', 'resource', 'tickets', '--schemas', at('outside/target')]
    expect((await sallyport(args, { cwd: at('project') })).code).to.equal(0)
  })

  it('is found behind other links', async () => {
    await mkdir(at('project/one'))
    await symlink('../two', at('project/one/link'))
    await symlink('../outside', at('project/two'))
    for (const out of ['one/link', 'one/link/below', 'one/../two/below']) {
      const { code, stderr } = await sallyport(['init', out, '--yes'], { cwd: at('project') })
      expect([code, stderr], out).to.deep.include(2)
      expect(stderr, out).to.include('leads out of the project')
    }
    await rm(at('project/one/link'))
    await symlink('link', at('project/one/link'))
    expect((await sallyport(['init', 'one/link', '--yes'], { cwd: at('project') })).stderr).to.include('leads nowhere')
  })

  it('leads into .git as well', async () => {
    await mkdir(at('project/.git'))
    await writeFile(at('project/.git/config'), 'mine')
    await rm(at('project/page.html'))
    await symlink('.git/config', at('project/page.html'))
    const { code } = await sallyport(['matrix', 'test', '--report', 'html=page.html'], { cwd: at('project') })
    expect([code, await readFile(at('project/.git/config'), 'utf8')]).to.deep.equal([2, 'mine'])
  })

  it('is looked for in every file of the commands that writes', async () => {
    const writing =
      /\b(?:writeFile|mkdir|makeFolder|appendFile|replaceFile|writeDurably|copyFile|createWriteStream)\(|open\([^)]*'w/
    const files = globSync('src/{cli,tools}/**/*.ts', { cwd: ROOT }).sort()
    const careless: string[] = []
    for (const file of files) {
      const text = await readFile(join(ROOT, file), 'utf8')
      if (writing.test(text) && !text.includes('writingPlace(') && !APART.includes(file)) careless.push(file)
    }
    expect(careless).to.deep.equal([])
    expect(APART.filter((file) => !files.includes(file))).to.deep.equal([])
  })
})
