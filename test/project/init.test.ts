/** `sallyport init`: a project whose own tests are green at once, and red when somebody opens a hole. */
import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'
import { withRules } from '../policy-text.ts'
import { program } from '../programs.ts'
import { soak } from '../runs.ts'
import { openWorkshop, type Workshop } from './projects.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('sallyport init', () => {
  let workshop: Workshop
  before(async () => {
    workshop = await openWorkshop()
  })
  after(() => workshop.remove())

  for (const flags of soak([[]], [['--tenants']])) {
    it(`makes a project whose tests are green: ${flags.join(' ') || 'users alone'}`, async () => {
      const name = `green${flags.join('')}`
      const made = await workshop.sallyport('.', 'init', name, '--yes', ...flags)
      expect(made, made.stderr).to.include({ code: 0 })
      for (const script of ['check', 'test']) {
        const ran = await workshop.script(name, script)
        expect(ran.code, ran.stdout + ran.stderr).to.equal(0)
      }
    })
  }

  it('makes a project whose scripts check the files here, whatever .env says', async () => {
    await workshop.sallyport('.', 'init', 'settled', '--yes')
    await writeFile(join(workshop.folder, 'settled/.env'), 'POLICIES=elsewhere\nSCHEMAS=elsewhere\n')
    expect((await workshop.sallyport('settled', 'policy', 'check')).stderr).to.include('elsewhere')
    for (const script of soak(['test'], ['check'])) {
      const ran = await workshop.script('settled', script)
      expect(ran.code, ran.stdout + ran.stderr).to.equal(0)
    }
  })

  it('makes the demo, with its matrices', async () => {
    await workshop.sallyport('.', 'init', 'demo', '--yes', '--demo')
    expect((await workshop.script('demo', 'check')).code).to.equal(0)
    const ran = await workshop.sallyport('demo', 'matrix', 'test', 'test/matrix/notes.csv')
    expect(ran.code, ran.stdout).to.equal(0)
  })

  it('makes the example of projects, for the demo with tenants', async () => {
    await workshop.sallyport('.', 'init', 'both', '--yes', '--demo', '--tenants')
    expect((await workshop.script('both', 'check')).code).to.equal(0)
    const ran = await workshop.sallyport('both', 'matrix', 'test', 'test/matrix/folders.csv')
    expect(ran.code, ran.stdout).to.equal(0)
    const { scripts } = JSON.parse(await readFile(join(workshop.folder, 'both/package.json'), 'utf8'))
    expect(scripts.test).to.include('--min-rules 90')
  })

  it('makes a project whose tests are red when somebody opens a hole', async () => {
    await workshop.sallyport('.', 'init', 'red', '--yes')
    const file = join(workshop.folder, 'red/policies/policy.csv')
    await writeFile(file, withRules(await readFile(file, 'utf8'), 'p, member, users, list|read, any, *, allow'))
    const { code, stdout } = await workshop.script('red', 'test')
    expect(code).to.equal(1)
    expect(stdout)
      .to.match(/GET\|?.* \/users/)
      .and.to.include('403')
  })

  it('has the answer of every request in its matrices, so that a further rule is noticed as missing', async () => {
    await workshop.sallyport('.', 'init', 'missing', '--yes')
    const rows = await readFile(join(workshop.folder, 'missing/test/matrix/users.csv'), 'utf8')
    await writeFile(
      join(workshop.folder, 'missing/test/matrix/users.csv'),
      rows.split('\n').slice(0, -3).join('\n').concat('\n'),
    )
    const { code, stdout } = await workshop.script('missing', 'test')
    expect(code, stdout).to.equal(1)
  })

  it('starts each file of the policy with the same lines as the demo', async () => {
    await workshop.sallyport('.', 'init', 'heads', '--yes')
    const head = (text: string) => /^(?:#.*\n)*/.exec(text)?.[0].replace('../src/', '../node_modules/sallyport/src/')
    for (const name of ['policy.csv', 'roles.yaml', 'ownership.yaml', 'views.yaml']) {
      const [own = '', shipped = ''] = await Promise.all(
        [join(workshop.folder, 'heads'), ROOT].map((folder) => readFile(join(folder, 'policies', name), 'utf8')),
      )
      expect(head(own)).to.equal(head(shipped)).and.to.include('#')
    }
  })

  it('keeps out of git what a server writes, and settings, but nothing of its own', async () => {
    await workshop.sallyport('.', 'init', 'ignoring', '--yes')
    const folder = join(workshop.folder, 'ignoring')
    const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' })
    git('init', '-q')
    git('add', '-A')
    const own = (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(folder, '.git/')))
      .filter((entry) => entry.parentPath !== join(folder, '.git'))
    expect(git('ls-files').trim().split('\n')).to.have.length(own.length)
    await mkdir(join(folder, 'data'))
    const written = ['server.log', 'decisions.log.1', 'data/sallyport.db', '.env', 'matrix.html', 'policies/own.txt']
    for (const name of written) await writeFile(join(folder, name), 'secret')
    expect(git('status', '--porcelain', '--untracked-files=all').match(/^\?\?.*$/gm)).to.deep.equal([
      '?? policies/own.txt',
    ])
  })

  it('writes nothing where a file would be replaced, and names it', async () => {
    await mkdir(join(workshop.folder, 'taken'))
    await writeFile(join(workshop.folder, 'taken/README.md'), 'mine')
    const { code, stderr } = await workshop.sallyport('.', 'init', 'taken', '--yes')
    expect(code).to.equal(2)
    expect(stderr).to.include('`README.md`')
    expect(await readdir(join(workshop.folder, 'taken'))).to.deep.equal(['README.md'])
  })

  it('takes a link that leads nowhere for a file, and leaves no folder behind', async () => {
    await mkdir(join(workshop.folder, 'linked'))
    await symlink('/nowhere/package.json', join(workshop.folder, 'linked/package.json'))
    const { code, stderr } = await workshop.sallyport('.', 'init', 'linked', '--yes')
    expect(code).to.equal(2)
    expect(stderr).to.include('`package.json`')
    expect(await readdir(join(workshop.folder, 'linked'))).to.deep.equal(['package.json'])
    await symlink('missing/at-all', join(workshop.folder, 'nowhere'))
    const toNowhere = await workshop.sallyport('.', 'init', 'nowhere', '--yes')
    expect(toNowhere.code).to.equal(2)
    expect(toNowhere.stderr).to.include('leads nowhere')
    expect((await workshop.sallyport('.', 'init', '', '--yes')).code).to.equal(2)
  })

  it('writes nothing through a linked folder', async () => {
    await mkdir(join(workshop.folder, 'elsewhere'))
    await mkdir(join(workshop.folder, 'through'))
    await symlink('../elsewhere', join(workshop.folder, 'through/test'))
    const { code, stderr } = await workshop.sallyport('through', 'init', '--yes')
    expect([code, stderr]).to.deep.include(2)
    expect(stderr).to.match(/leads out of the project, and nothing was changed: remove it/)
    expect(await readdir(join(workshop.folder, 'elsewhere'))).to.deep.equal([])
    expect(await readdir(join(workshop.folder, 'through'))).to.deep.equal(['test'])
  })

  it('takes the present folder, beside files that are none of its own', async () => {
    await mkdir(join(workshop.folder, 'here/.git'), { recursive: true })
    const { code, stdout } = await workshop.sallyport('here', 'init', '--yes')
    expect(code).to.equal(0)
    expect(stdout).to.include('The project here is ready').and.not.to.include('cd ')
  })

  it('leaves nothing of a project that could not be written whole', async () => {
    await mkdir(join(workshop.folder, 'half'))
    await writeFile(join(workshop.folder, 'half/test'), 'a file, where a folder must be made')
    expect(await workshop.sallyport('.', 'init', 'half', '--yes')).to.include({ code: 2 })
    expect(await readdir(join(workshop.folder, 'half'))).to.deep.equal(['test'])
  })

  it('refuses a name that no package can have, and asks nobody where nobody answers', async () => {
    const wrong = await workshop.sallyport('.', 'init', 'My API', '--yes')
    expect(wrong.code).to.equal(2)
    expect(wrong.stderr).to.include("can't be the name of a project")
    const unasked = await workshop.sallyport('.', 'init', 'unasked')
    expect(unasked.code).to.equal(2)
    expect(unasked.stderr).to.include('--yes')
    expect(await readdir(workshop.folder)).to.not.include.members(['My API', 'unasked'])
  })

  it('asks on a terminal what no flag says', async () => {
    const script = program('script')
    const command = `'${process.execPath}' '${ROOT}bin/sallyport.js' init asked`
    const options = { cwd: workshop.folder, input: 'n\ny\n', encoding: 'utf8' } as const
    const said = execFileSync(script, ['-qefc', command, '/dev/null'], options)
    expect(said).to.include('the resources of the demo?').and.to.include('never see each other?')
    const policy = await readFile(join(workshop.folder, 'asked/policies/policy.csv'), 'utf8')
    expect(policy).to.include('!tenant').and.not.to.include('orders')
  })
})

describe('sallyport add resource', () => {
  let workshop: Workshop
  before(async () => {
    workshop = await openWorkshop()
    await workshop.sallyport('.', 'init', 'plain', '--yes')
    await workshop.sallyport('.', 'init', 'tenants', '--yes', '--tenants')
  })
  after(() => workshop.remove())

  for (const project of soak(['tenants'], ['plain'])) {
    it(`adds resources of each pattern to a project, whose tests stay green: ${project}`, async () => {
      for (const pattern of ['own', 'team', 'public-read']) {
        const { code, stderr } = await workshop.sallyport(
          project,
          'add',
          'resource',
          `a-${pattern}`,
          '--pattern',
          pattern,
        )
        expect(code, stderr).to.equal(0)
      }
      for (const script of ['check', 'test']) {
        const ran = await workshop.script(project, script)
        expect(ran.code, ran.stdout + ran.stderr).to.equal(0)
      }
      const schema = JSON.parse(await readFile(join(workshop.folder, project, 'schemas/a-own.json'), 'utf8'))
      expect('tenantId' in schema.properties).to.equal(project === 'tenants')
    })
  }

  it('adds rules that do what the pattern says: of a team, whoever is named reads and renames, and no more', async () => {
    await workshop.sallyport('plain', 'add', 'resource', 'boards', '--pattern', 'team')
    const explained = async (method: string, ...relation: readonly string[]) => {
      const asked = [
        method,
        '/boards/{id}',
        '--role',
        'member',
        '--relation',
        relation.join('+') || 'none',
        '--exit-code',
      ]
      return (await workshop.sallyport('plain', 'policy', 'explain', ...asked)).code
    }
    expect(await explained('GET', 'member')).to.equal(0)
    expect(await explained('GET')).to.equal(1)
    expect(await explained('DELETE', 'member')).to.equal(1)
    expect(await explained('DELETE', 'owner')).to.equal(0)
  })

  const refused: Readonly<Record<string, { readonly args: readonly string[]; readonly says: string }>> = {
    'a name that is taken': { args: ['users'], says: 'exists already' },
    'a name with capitals': { args: ['Tickets'], says: "can't be the name of a resource" },
    'a role that nobody declared': { args: ['tickets', '--role', 'nobody'], says: 'is not a role of roles.yaml' },
    'a pattern that does not exist': { args: ['tickets', '--pattern', 'any'], says: 'own, team, public-read' },
  }
  for (const [what, { args, says }] of Object.entries(refused)) {
    it(`refuses ${what}, and changes nothing`, async () => {
      const before = await contents(join(workshop.folder, 'plain'))
      const { code, stderr } = await workshop.sallyport('plain', 'add', 'resource', ...args)
      expect(code).to.equal(2)
      expect(stderr).to.include(says)
      expect(await contents(join(workshop.folder, 'plain'))).to.deep.equal(before)
    })
  }

  it('names the missing folder outside of a project, and where the policy is in a database', async () => {
    const { code, stderr } = await workshop.sallyport('.', 'add', 'resource', 'tickets')
    expect(code).to.equal(2)
    expect(stderr).to.include('the directory of schemas cannot be read')
    const published = await workshop.sallyport('plain', 'add', 'resource', 'tickets', '--policies', 'database:')
    expect(published.code).to.equal(2)
    expect(published.stderr).to.include('database: is not a directory, which this command needs')
    const missing = await workshop.sallyport('plain', 'add', 'resource', 'tickets', '--policies', 'none')
    expect(missing.stderr).to.equal('sallyport: none is not a directory: name a directory of policy files\n')
  })

  it('changes nothing where the files have faults, or a file can not be written', async () => {
    await workshop.sallyport('.', 'init', 'broken', '--yes')
    const folder = join(workshop.folder, 'broken')
    await removeFolder(join(folder, 'test/matrix'))
    await writeFile(join(folder, 'test/matrix'), 'a file, where a folder must be')
    const before = await contents(folder)
    const unwritten = await workshop.sallyport('broken', 'add', 'resource', 'tickets')
    expect(unwritten.code).to.equal(2)
    expect(unwritten.stderr).to.include("test/matrix can't be written").and.to.include('nothing was changed')
    expect(await contents(folder)).to.deep.equal(before)
    await appendFile(join(folder, 'policies/policy.csv'), 'p, member\n')
    const faulty = await contents(folder)
    const { code, stderr } = await workshop.sallyport('broken', 'add', 'resource', 'tickets')
    expect(code).to.equal(2)
    expect(stderr).to.match(/policy\.csv:\d+:\d+/)
    expect(await contents(folder)).to.deep.equal(faulty)
  })
})

describe('sallyport eject', () => {
  let workshop: Workshop
  before(async () => {
    workshop = await openWorkshop()
  })
  after(() => workshop.remove())

  it('copies the schemas and the policy of the demo, once', async () => {
    const first = await workshop.sallyport('.', 'eject')
    expect(first).to.include({ code: 0, stdout: 'schemas/\npolicies/\n' })
    expect((await workshop.sallyport('.', 'policy', 'check')).code).to.equal(0)
    await writeFile(join(workshop.folder, 'policies/blocked.txt'), 'user:mallory\n')
    const again = await workshop.sallyport('.', 'eject')
    expect(again.code).to.equal(2)
    expect(again.stderr).to.include('`schemas/` and `policies/`')
    expect(await readFile(join(workshop.folder, 'policies/blocked.txt'), 'utf8')).to.equal('user:mallory\n')
  })
})

/** Every file of the folder, by its name. */
async function contents(folder: string): Promise<Readonly<Record<string, string>>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  const texts = await Promise.all(paths.map(async (path) => [path, await readFile(path, 'utf8')] as const))
  return Object.fromEntries(texts)
}
