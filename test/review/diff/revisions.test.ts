/** OLD and NEW may be revisions of a real git repository. */
import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { FileError } from '../../../src/base/diagnostic.ts'
import { ToolError } from '../../../src/tools/load-policy.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { addRules } from '../../policy-text.ts'
import { policyDiff } from './command.ts'
import { POLICIES } from './shipped.ts'

const RULE = 'p, support, orders, delete, any, *, allow\n'
const SAYS = 'support gains delete on orders (any, had owner+draft)'

describe('a policy diff of git revisions', () => {
  let top: string
  let policies: string

  const git = (...args: readonly string[]) => execFileSync('git', ['-C', top, ...args], { stdio: 'pipe', env: GIT })
  const diff = (...args: readonly string[]) => policyDiff('--policies', policies, ...args)
  const says = async (...args: readonly string[]) => {
    const { stdout, error } = await diff(...args)
    if (error) throw error
    return stdout
  }

  before(async () => {
    top = await mkdtemp(join(tmpdir(), 'sallyport-diff-git-'))
    policies = join(top, 'deploy', 'rules')
    await mkdir(join(top, 'deploy'))
    await cp(POLICIES, policies, { recursive: true })
    git('init', '--quiet', '--initial-branch=main')
    git('add', '.')
    git('commit', '--quiet', '--message=first: the shipped policy')
    git('tag', 'v1')
    await addRules(join(policies, 'policy.csv'), RULE)
    git('commit', '--quiet', '--all', '--message=second: support deletes orders')
    git('branch', 'same-name')
  })

  after(() => removeFolder(top))

  it('compares two revisions, a branch, a tag and a search among them', async () => {
    expect(await says('HEAD~1', 'HEAD')).to.include(`+ ${SAYS}`)
    expect(await says('v1', 'main')).to.include(`+ ${SAYS}`)
    expect(await says('main', 'v1')).to.include('- support loses delete on orders')
    expect(await says('main^{/first: the}', 'HEAD')).to.include(`+ ${SAYS}`)
  })

  it('compares a revision with a directory', async () => {
    expect(await says('v1', policies)).to.include(`+ ${SAYS}`)
    expect(await says('main', policies)).to.include('equivalent: their files are the same')
    expect(await says(POLICIES, 'main:deploy/rules/')).to.include(`+ ${SAYS}`)
  })

  it('finds the files where --policies is, or where the name says', async () => {
    expect(await says('v1:deploy/rules', 'main')).to.include(`+ ${SAYS}`)
    expect(await says('main^{/first: the}:deploy/rules', 'main')).to.include(`+ ${SAYS}`)
    const there = await mkdtemp(join(top, 'elsewhere-'))
    const { error } = await policyDiff('--policies', there, 'v1', 'main')
    expect(error).to.be.instanceOf(ToolError)
    expect((error as Error).message).to.match(/^`v1` has no folder `elsewhere-\w+`: name another folder/)
  })

  it('does not look at the working tree', async () => {
    const csv = join(policies, 'policy.csv')
    const committed = await readFile(csv, 'utf8')
    await writeFile(csv, 'broken\n')
    try {
      expect(await says('v1', 'main')).to.include(`+ ${SAYS}`)
    } finally {
      await writeFile(csv, committed)
    }
  })

  it('takes a directory before a revision of the same name', async () => {
    const cwd = process.cwd()
    process.chdir(top)
    try {
      expect(await says('v1', 'same-name')).to.include(`+ ${SAYS}`)
      await cp(POLICIES, join(top, 'same-name'), { recursive: true })
      expect(await says('v1', 'same-name')).to.include('equivalent')
    } finally {
      process.chdir(cwd)
    }
  })

  it('tells faults by revision and path', async () => {
    git('checkout', '--quiet', '-b', 'faulty', 'v1')
    await writeFile(join(policies, 'policy.csv'), 'p, nobody, notes, read, any, *, allow\n')
    git('rm', '--quiet', '--cached', 'deploy/rules/blocked.txt')
    git('commit', '--quiet', '--all', '--message=faulty')
    const { error } = await diff('v1', 'faulty')
    git('checkout', '--quiet', '--force', 'main')
    expect(error).to.be.instanceOf(FileError)
    expect((error as Error).message).to.match(/^faulty:deploy\/rules\/blocked\.txt:1:1: the file can't be read/)
    expect((error as Error).message).not.to.include(tmpdir())
  })

  describe('refuses, with one sentence,', () => {
    const refusals: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
      'a revision that git does not know': [
        ['v1', 'v2'],
        /`v2` is neither a directory nor a commit of the git repository/,
      ],
      'a path that is no policy': [['v1', 'main:deploy'], /`main` has no policy files in `deploy`/],
      'a path that is not there': [['v1', 'main:nowhere'], /`main` has no folder `nowhere`/],
      'a file for a folder': [['v1', 'main:deploy/rules/policy.csv'], /`main` has no folder/],
      'a range': [['v1..main', 'main'], /neither a directory nor a commit/],
      'what reads like an option of git': [['--', '--git-dir=/', 'main'], /`--git-dir=\/` is neither/],
      'no name at all': [['', 'main'], /`` is neither/],
    }
    for (const [what, [args, message]] of Object.entries(refusals)) {
      it(what, async () => {
        const { error, exitCode, stdout } = await diff(...args)
        expect(error).to.be.instanceOf(ToolError)
        expect((error as Error).message).to.match(message)
        expect((error as Error).message).not.to.include('\n')
        expect({ exitCode, stdout }).to.deep.equal({ exitCode: 2, stdout: '' })
      })
    }

    it('a folder that is in no repository', async () => {
      const outside = await mkdtemp(join(tmpdir(), 'sallyport-no-git-'))
      const cwd = process.cwd()
      process.chdir(outside)
      try {
        const { error } = await policyDiff('--policies', outside, 'v1', 'main')
        expect((error as Error).message).to.match(/`v1` is not a directory, and there is no git repository .*not a git/)
      } finally {
        process.chdir(cwd)
        await removeFolder(outside)
      }
    })

    it('a folder outside of the repository, where the revision names none', async () => {
      const outside = await mkdtemp(join(tmpdir(), 'sallyport-no-git-'))
      const cwd = process.cwd()
      process.chdir(top)
      try {
        const { error } = await policyDiff('--policies', outside, 'v1', 'main')
        expect(error).to.be.instanceOf(ToolError)
        expect((error as Error).message).to.match(/is outside the repository: .* as in `v1:policies`$/)
      } finally {
        process.chdir(cwd)
        await removeFolder(outside)
      }
    })

    it('a machine without git', async () => {
      const path = process.env.PATH
      process.env.PATH = ''
      try {
        const { error } = await diff('v1', 'main')
        expect((error as Error).message).to.equal('git is not installed: install it, or name a directory')
      } finally {
        process.env.PATH = path
      }
    })
  })

  it('is not led astray by a link, or by the variables of a hook', async () => {
    git('checkout', '--quiet', '-b', 'linked', 'v1')
    await rm(join(policies, 'policy.csv'))
    await symlink('/etc/hostname', join(policies, 'policy.csv'))
    git('commit', '--quiet', '--all', '--message=linked')
    git('checkout', '--quiet', '--force', 'main')
    const { error } = await diff('v1', 'linked')
    expect((error as Error).message).to.match(/^linked:deploy\/rules\/policy\.csv:1:1: the file can't be read/)
    process.env.GIT_DIR = '/nowhere'
    try {
      expect(await says('v1', 'main')).to.include(`+ ${SAYS}`)
    } finally {
      delete process.env.GIT_DIR
    }
  })
})

/** Commits that depend on nobody's configuration. */
const GIT = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
}
