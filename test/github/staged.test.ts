/** The git hook of projects: it judges what will be committed, with a real git. */
import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { openPageCommands, type PageCommands } from '../page-commands.ts'
import { ranIn } from '../project/projects.ts'
import { openRepository, type Repository, sallyportIn } from './repository.ts'

const NPX = 'npx --no -- sallyport'

describe('sallyport ci staged', () => {
  let one: Repository
  let inProcess: PageCommands
  before(async () => {
    inProcess = await openPageCommands()
  })
  afterEach(() => one.remove())
  after(() => inProcess.close())

  async function open(inside = '', starter = inProcess.program) {
    one = await openRepository(inside)
    const hook = join(one.project, '.githooks/pre-commit')
    // Some of them start the real program by npx, which takes as long as the check.
    await writeFile(hook, (await readFile(hook, 'utf8')).replace(NPX, starter))
    one.git('config', 'core.hooksPath', join(inside, '.githooks'))
    one.git('add', '.')
  }
  const commit = (...args: readonly string[]) => ranIn(one.folder, one.env, ['git', 'commit', '-m', 'x', ...args])
  const commits = () => one.git('rev-list', '--count', '--all').trim()

  it('lets a good first commit pass, refuses a hole, and lets it pass with its new answers', async () => {
    await open('', NPX)
    const first = await commit()
    expect(first.code, first.stderr).to.equal(0)
    await one.openHole()
    const red = await commit('-a')
    expect(red.code).to.equal(1)
    expect(red.stdout + red.stderr)
      .to.match(/test\/matrix\/users\.csv:\d+:\d+: error: GET \/users .* as member is 403: the policy answers 200/)
      .and.to.include('so there is no commit')
    expect(commits()).to.equal('1')
    await sallyportIn(one.project, one.env, 'matrix', 'init', '--force')
    expect((await commit('-a')).code).to.equal(0)
    expect(commits()).to.equal('2')
  })

  it('refuses a policy that breaks a guarantee', async () => {
    await open()
    const file = join(one.project, 'policies/guarantees.yaml')
    await writeFile(file, '- name: nobody reads users\n  never: { resource: users, actions: [read] }\n')
    one.git('add', '.')
    const { code, stdout, stderr } = await commit()
    expect([code, commits()]).to.deep.equal([1, '0'])
    expect(stdout + stderr).to.include('this breaks the guarantee `nobody reads users`')
  })

  it('refuses a first commit with a broken schema or a broken policy, and names line and column', async () => {
    await open()
    const file = join(one.project, 'policies/policy.csv')
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace('p, member,', 'p, membr,'))
    one.git('add', '.')
    const policy = await commit()
    expect(policy.code).to.equal(1)
    expect(policy.stdout + policy.stderr).to.match(/policies\/policy\.csv:\d+:\d+: error: .*membr/)
    await writeFile(join(one.project, 'schemas/users.json'), '{')
    one.git('add', '.')
    const schema = await commit()
    expect(schema.code).to.equal(1)
    expect(schema.stdout + schema.stderr).to.match(/schemas\/users\.json:1:\d+: error: /)
  })

  it('judges the staged half of a file, whatever the work tree has', async () => {
    await open()
    await commit('--no-verify')
    const file = join(one.project, 'policies/policy.csv')
    const good = await readFile(file, 'utf8')
    await one.openHole()
    one.git('add', '.')
    await writeFile(file, good)
    expect((await commit()).code, 'a staged hole, fixed in the work tree alone').to.equal(1)
    one.git('add', '.')
    await one.openHole()
    await appendFile(join(one.project, 'policies/roles.yaml'), '# reviewed\n')
    one.git('add', 'policies/roles.yaml')
    expect((await commit()).code, 'a hole that is not staged').to.equal(0)
  })

  it('judges a commit of named files alone, and of all changed files', async () => {
    await open()
    await commit('--no-verify')
    await one.openHole()
    await appendFile(join(one.project, 'policies/roles.yaml'), '# reviewed\n')
    expect((await commit('--', 'policies/roles.yaml')).code).to.equal(0)
    expect((await commit('--', 'policies/policy.csv')).code).to.equal(1)
    expect((await commit('-a')).code).to.equal(1)
    // An empty file that is only meant to be added later is not in the commit.
    one.git('checkout', '-q', 'policies')
    await writeFile(join(one.project, 'schemas/later.json'), '')
    one.git('add', '-N', 'schemas/later.json')
    await appendFile(join(one.project, 'policies/roles.yaml'), '# again\n')
    one.git('add', 'policies/roles.yaml')
    expect((await commit()).code).to.equal(0)
    await writeFile(join(one.project, 'schemas/later.json'), '{')
    one.git('add', 'schemas/later.json')
    expect((await commit()).code).to.equal(1)
  })

  it('works for a project in a folder with a space, in a linked work tree, and from any folder', async () => {
    await open('apps/my api', NPX)
    await writeFile(join(one.project, 'test/matrix/more users.csv'), 'method,path,object,member\nGET,/users,none,403\n')
    one.git('add', '.')
    const first = await commit()
    expect(first.code, first.stderr).to.equal(0)
    const linked = join(one.folder, '.git/linked tree')
    one.git('worktree', 'add', '-q', '-b', 'linked', linked)
    await mkdir(join(linked, 'apps/my api/node_modules'))
    execFileSync('cp', ['-R', join(one.project, 'node_modules'), join(linked, 'apps/my api')])
    const file = join(linked, 'apps/my api/policies/policy.csv')
    const good = await readFile(file, 'utf8')
    await one.openHole()
    await writeFile(file, await readFile(join(one.project, 'policies/policy.csv')))
    const inside = (...args: readonly string[]) =>
      ranIn(join(linked, 'apps/my api/schemas'), one.env, ['git', 'commit', '-m', 'x', ...args])
    const red = await inside('-a')
    expect(red.code).to.equal(1)
    expect(red.stdout + red.stderr)
      .to.include('test/matrix/more users.csv:2:')
      .and.not.include('apps/')
    await writeFile(file, `${good}# fine\n`)
    expect((await inside('-a')).code).to.equal(0)
  })

  it('does nothing for a commit of other files, or when the whole project is removed', async () => {
    await open('api')
    await commit('--no-verify')
    await one.openHole()
    one.git('commit', '-qam', 'a hole that is committed already', '--no-verify')
    await writeFile(join(one.folder, 'README.md'), 'Hello\n')
    one.git('add', 'README.md')
    const other = await sallyportIn(one.project, one.env, 'ci', 'staged')
    expect(other).to.deep.equal({ code: 0, stdout: '', stderr: '' })
    await appendFile(join(one.project, 'policies/roles.yaml'), '# staged\n')
    one.git('add', '.')
    expect((await sallyportIn(one.project, one.env, 'ci', 'staged')).code).to.equal(1)
    one.git('rm', '-rqf', '--cached', 'api')
    expect(await sallyportIn(one.project, one.env, 'ci', 'staged')).to.deep.equal({ code: 0, stdout: '', stderr: '' })
  })

  it('is what the hook of pre-commit runs, also for a commit that only removes files', async () => {
    await open()
    await commit('--no-verify')
    const [hook] = parse(await readFile(new URL('../../.pre-commit-hooks.yaml', import.meta.url), 'utf8'))
    expect(hook).to.include({ entry: `${NPX} ci staged`, language: 'system', pass_filenames: false, always_run: true })
    one.git('rm', '-q', 'policies/limits.yaml')
    const ran = await ranIn(one.project, one.env, ['bash', '-c', hook.entry])
    expect(ran.code).to.equal(1)
    expect(ran.stdout).to.include('policies/limits.yaml:1:1: error: ')
  })

  it('says in one sentence where it can not run, and leaves no copy', async () => {
    await open()
    const copies = join(one.folder, '.git/copies')
    await mkdir(copies)
    const env = { ...one.env, TMPDIR: copies }
    expect((await sallyportIn(one.project, env, 'ci', 'staged')).code).to.equal(0)
    const outside = await sallyportIn(one.project, env, 'ci', 'staged', '--policies', '../elsewhere')
    expect([outside.code, outside.stderr.split('\n').length]).to.deep.equal([2, 2])
    expect(outside.stderr).to.include('is outside the git work tree')
    expect(execFileSync('ls', ['-A', copies], { encoding: 'utf8' })).to.equal('')
    const nowhere = await sallyportIn('/', env, 'ci', 'staged')
    expect(nowhere.code).to.equal(2)
    expect(nowhere.stderr).to.match(/^sallyport: what is staged can't be read \(.*\): run this in a git work tree\n$/)
  })
})
