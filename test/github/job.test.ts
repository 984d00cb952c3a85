/** `sallyport ci github` in a workflow: its log, annotations, SARIF, comment, summary, outputs and exit code. */
import { appendFile, cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { approvalsText, Person } from '../approvals/people.ts'
import { blocksOf, sectionOf } from '../documented.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'
import { ranIn } from '../project/projects.ts'
import { sarifFaults } from '../sarif.ts'
import { type CommentsApi, startCommentsApi } from './comments-api.ts'
import { openJob, pullRequest, runJob } from './job.ts'
import { openRepository, type Repository, sallyportIn } from './repository.ts'

describe('sallyport ci github', () => {
  let one: Repository
  let api: CommentsApi
  beforeEach(async () => {
    api = await startCommentsApi()
  })
  afterEach(async () => {
    await api.close()
    await one.remove()
  })

  it('is silent and green for a pull request that changes nothing for anybody, by the commands of the page', async () => {
    one = await openRepository()
    const event = await pullRequest(one, () => writeFile(join(one.folder, 'NOTES.md'), 'Hello\n'))
    const job = await openJob(one, { api: api.url, event })
    const page = await readFile(new URL('../../docs/new-project.md', import.meta.url), 'utf8')
    const [, inWorkflow = ''] = sectionOf(page, 'Check each pull request').split(/```(?:sh\n)?/)
    const [{ commands } = { commands: [] }] = blocksOf(sectionOf(page, 'Check each commit'))
    const hook = commands.find((command) => command.startsWith('git config core.hooksPath')) ?? 'false'
    expect((await ranIn(one.project, one.env, ['bash', '-c', hook])).code).to.equal(0)
    const ran = await job.written(await ranIn(one.project, job.env, ['bash', '-c', inWorkflow]))
    expect(ran.code, ran.stdout + ran.stderr).to.equal(0)
    expect(ran.stdout)
      .to.match(/^::group::files: 0 errors, 0 warnings$/m)
      .and.not.include('::error')
    expect(ran.summary).to.include('| change | passed | <code>decides every request as before</code> |')
    expect(ran.outputs).to.include({ 'exit-code': '0', 'wrong-cells': '0', comment: 'not-needed', widening: '0' })
    expect(ran.outputs['coverage-cells']).to.equal('100')
    expect(api.comments).to.deep.equal([])
  })

  it('tells a hole everywhere, in a project within a larger repository, and then that it is fixed', async () => {
    one = await openRepository('apps/my api')
    const event = await pullRequest(one, () => one.openHole())
    const sarif = join(one.folder, '.git/report.sarif')
    const red = await runJob(one, { api: api.url, event }, '--min', '100', '--sarif', sarif)
    expect(red.code, red.stderr).to.equal(1)
    // Where the file is in the repository, so that GitHub finds its line.
    expect(red.stdout).to.match(
      /^::error file=apps\/my api\/test\/matrix\/users\.csv,line=\d+,col=\d+,title=cell-wrong::GET/m,
    )
    expect(red.outputs).to.include({
      'exit-code': '1',
      'check-exit-code': '0',
      'matrix-exit-code': '1',
      comment: 'created',
    })
    expect(Number(red.outputs['wrong-cells'])).to.be.above(0)
    expect(Number(red.outputs.widening)).to.be.above(0)
    const [comment] = api.comments
    expect(comment?.body).to.match(/^<!-- sallyport-ci apps%2Fmy%20api -->\n### /)
    expect(comment?.body)
      .to.include('| **widening** |')
      .and.include('| matrices | **failed** |')
      .and.include('| coverage |')
      .and.not.include('approvals.yaml')
    expect(red.summary).to.equal(comment?.body.replace(/^.*\n/, ''))
    const log = JSON.parse(await readFile(sarif, 'utf8'))
    expect(sarifFaults(log)).to.deep.equal([])
    const tools = log.runs.map((run: { tool: { driver: { name: string } } }) => run.tool.driver.name)
    expect(tools).to.deep.equal(['sallyport policy check', 'sallyport matrix test'])
    const { uri } = log.runs[1].results[0].locations[0].physicalLocation.artifactLocation
    expect(uri).to.equal('apps/my%20api/test/matrix/users.csv')
    one.git('checkout', '-q', '-f', 'main')
    const green = await runJob(one, { api: api.url, event })
    expect([green.code, green.outputs.comment]).to.deep.equal([0, 'updated'])
    expect(api.comments).to.have.length(1)
    expect(api.comments[0]?.body).to.not.include('widening')
  })

  it('refuses a pull request that widens what a guarantee of the base keeps, and says so first', async () => {
    one = await openRepository()
    const kept = '- name: users never open by accident\n  ratchet: { resource: users, never: widen }\n'
    await writeFile(join(one.project, 'policies/guarantees.yaml'), kept)
    const event = await pullRequest(one, () => one.openHole())
    const red = await runJob(one, { api: api.url, event })
    expect([red.code, red.outputs['check-exit-code'], red.outputs['diff-exit-code']]).to.deep.equal([1, '0', '1'])
    expect(red.stdout).to.match(/^::error file=policies\/guarantees\.yaml,line=1,.*title=guarantee-broken::/m)
    expect(red.summary.split('\n')[0]).to.match(/^\*\*Not as guaranteed:\*\* .*users never open by accident/)
  })

  it('comments which approvals the change needs by approvals.yaml of the base, which the change itself cannot lower', async () => {
    one = await openRepository()
    const file = join(one.project, 'policies/approvals.yaml')
    const people = { ada: new Person(), zoe: new Person(), kim: new Person() }
    await writeFile(file, approvalsText(people, 'needs: { widens: { people: 2 } }\n'))
    const event = await pullRequest(one, async () => {
      await one.openHole()
      await writeFile(file, approvalsText(people, 'needs: { widens: { people: 1 } }\n'))
    })
    const ran = await runJob(one, { api: api.url, event })
    expect(ran.stdout).to.match(/needs the approval of\n {2}2 people, because member gains .* on users/)
    expect(api.comments[0]?.body).to.match(
      /^\| By approvals\.yaml of the base, .*\n\| --- \| --- \|\n\| <code>2 people/m,
    )
  })

  it('says who has approved, by the last review of each of the last commit, and fails without if it is asked to', async () => {
    one = await openRepository()
    const file = join(one.project, 'policies/approvals.yaml')
    const people = { Ada: new Person(), zoe: new Person(), kim: new Person(), tim: new Person() }
    await writeFile(file, approvalsText(people, 'needs: { widens: { people: 2 } }\n'))
    const pull = (await pullRequest(one, () => one.openHole())) as { pull_request: object }
    const event = { pull_request: { ...pull.pull_request, user: { login: 'ada' }, head: { sha: 'h2' } } }
    const review = (login: string, state: string, commit = 'h2') =>
      api.reviews.push({ user: { login }, state, commit_id: commit })
    const judged = async () => {
      const ran = await runJob(one, { api: api.url, event }, '--require-approvals')
      const [told] =
        /because member gains .*: (nobody.*|[\w`].*(?:missing.*|and .*|`))\n/.exec(ran.stdout)?.slice(1) ?? []
      return [ran.outputs['diff-exit-code'], told]
    }
    expect(await judged()).to.deep.equal(['1', 'nobody; 2 missing, `zoe` or `kim` or `tim` may'])
    // The author, a stranger, an approval of an earlier commit, and one that was taken back.
    review('ada', 'APPROVED')
    review('mallory', 'APPROVED')
    review('zoe', 'APPROVED', 'h1')
    review('kim', 'APPROVED')
    review('kim', 'CHANGES_REQUESTED')
    expect(await judged()).to.deep.equal(['1', 'nobody; 2 missing, `zoe` or `kim` or `tim` may'])
    review('ZOE', 'APPROVED')
    review('zoe', 'COMMENTED')
    expect(await judged()).to.deep.equal(['1', '`zoe`; 1 missing, `kim` or `tim` may'])
    for (let i = 0; i < 150; i++) review(`other${i}`, 'COMMENTED')
    review('tim', 'APPROVED')
    expect(await judged()).to.deep.equal(['0', '`zoe`, `tim`'])
    api.next.push(404)
    const unknown = await runJob(one, { api: api.url, event }, '--require-approvals')
    expect(unknown.outputs['diff-exit-code']).to.equal('2')
    expect(unknown.stdout).to.contain(': not known: GitHub answered 404')
  })

  it('comments that somebody must approve a comment in a file, which changes no decision', async () => {
    one = await openRepository()
    const people = { ada: new Person(), zoe: new Person() }
    await writeFile(
      join(one.project, 'policies/approvals.yaml'),
      approvalsText(people, 'needs: { widens: { people: 1 } }\n'),
    )
    const event = await pullRequest(one, () => addRules(join(one.project, 'policies/policy.csv'), '# reviewed\n'))
    const ran = await runJob(one, { api: api.url, event })
    expect([ran.code, ran.outputs.comment]).to.deep.equal([0, 'created'])
    expect(ran.stdout).to.contain('  1 person, because the text of policy.csv changes: ')
  })

  it('goes on without a comment where the token may only read, and obeys nothing that the files say', async () => {
    one = await openRepository()
    const event = await pullRequest(one, async () => {
      const hole = 'p, member, users, list|read, any, *, allow'
      await appendFile(
        join(one.project, 'policies/policy.csv'),
        `${hole}\n::error::planted\n::set-output name=code::0\n`,
      )
    })
    api.next.push(403)
    const ran = await runJob(one, { api: api.url, event })
    expect(ran.code).to.equal(1)
    expect(api.comments).to.deep.equal([])
    expect(ran.outputs).to.include({ comment: 'refused', 'exit-code': '1' })
    expect(ran.stdout).to.include('::notice::the pull request has no new comment: GitHub answered 403')
    expect(ran.summary).to.include('| files | **failed** |').and.include('not run')
    const stopped = ran.stdout.replaceAll(/^::stop-commands::(\S+)\n[\s\S]*?^::\1::$/gm, '')
    expect(ran.stdout).to.include('planted')
    expect(stopped).to.not.match(/^::(?:error|set-output)[^:]*::planted/m)
    expect(stopped).to.not.match(/^::set-output/m)
  })

  it('publishes nothing that a link of the pull request leads to, outside of the checkout', async () => {
    one = await openRepository()
    const secret = join(tmpdir(), `sallyport-secret-${process.pid}`)
    await mkdir(secret)
    await writeFile(join(secret, 'policy.csv'), 'hidden-word, hidden-word\n')
    await writeFile(join(secret, 'config.json'), '{"hidden-word": hidden-word}')
    await writeFile(join(secret, 'sarif'), 'as it was')
    const env = { HIDDEN: 'hidden-word' }
    try {
      const link = (name: string, target: string) => async () => {
        await removeFolder(join(one.project, name))
        await symlink(target, join(one.project, name))
      }
      const event = await pullRequest(one, link('policies/policy.csv', join(secret, 'policy.csv')))
      for (const [change, told] of [
        [async () => undefined, 'leads out of the git work tree'],
        [link('policies/policy.csv', '/proc/self/environ'), 'leads out of the git work tree'],
        [link('schemas', secret), 'leads out of the checkout'],
      ] as const) {
        await change()
        await link('out.sarif', join(secret, 'sarif'))()
        const job = await openJob(one, { api: api.url, event })
        const asked = ['ci', 'github', '--sarif', 'out.sarif']
        const ran = await job.written(await sallyportIn(one.project, { ...job.env, ...env }, ...asked))
        expect(ran.code, ran.stdout).to.be.within(1, 2)
        expect(ran.stdout + ran.stderr).to.include(told)
        expect(JSON.stringify([ran, api.comments])).to.not.include('hidden-word')
        expect(await readFile(join(secret, 'sarif'), 'utf8')).to.equal('as it was')
      }
    } finally {
      await removeFolder(secret)
    }
  })

  it('publishes nothing of a checkout without git, where nothing tells which links lead out of it', async () => {
    one = await openRepository()
    const event = await pullRequest(one, async () => undefined)
    await removeFolder(join(one.project, 'policies/policy.csv'))
    await symlink('/proc/self/environ', join(one.project, 'policies/policy.csv'))
    const job = await openJob(one, { api: api.url, event })
    const copy = await mkdtemp(join(tmpdir(), 'sallyport-no-git-'))
    await cp(one.project, copy, { recursive: true, filter: (name) => !name.endsWith('/.git') })
    const env = { ...job.env, GITHUB_WORKSPACE: copy, HIDDEN: 'hidden-word' }
    const ran = await job.written(await sallyportIn(copy, env, 'ci', 'github', '--sarif', 'out.sarif'))
    await removeFolder(copy)
    expect([ran.code, ran.stdout, ran.summary]).to.deep.equal([2, '', ''])
    expect(ran.stderr).to.match(/^sallyport: this folder is in no git work tree.*\n$/)
    expect(JSON.stringify([ran, api.comments])).to.not.include('hidden-word')
  })

  it('is red with one sentence where the clone has not the base, and still tests the rest', async () => {
    one = await openRepository()
    await pullRequest(one, () => one.openHole())
    const event = { pull_request: { number: 7, base: { sha: 'a'.repeat(40) } } }
    one.git('checkout', '-q', 'change')
    const ran = await runJob(one, { api: api.url, event }, '--no-comment', '--sarif', 'no/such.sarif')
    expect(ran.code).to.equal(2)
    expect(ran.stdout).to.include(
      `the clone has not the commit \`${'a'.repeat(40)}\` to compare with: give actions/checkout`,
    )
    expect(ran.outputs).to.include({ 'diff-exit-code': '2', 'matrix-exit-code': '1', comment: 'not-needed', sarif: '' })
    // Nor does a report that can't be written take anything from the others.
    expect(ran.stdout).to.include("`no/such.sarif` can't be written (no such file or directory)")
    expect(ran.summary).to.include('| change | **could not run** |').and.include('| matrices | **failed** |')
  })

  it('refuses the event that gives the content of a fork a token that may write', async () => {
    one = await openRepository()
    const event = await pullRequest(one, async () => undefined)
    const ran = await runJob(one, { api: api.url, name: 'pull_request_target', event })
    expect([ran.code, ran.stdout, ran.summary]).to.deep.equal([2, '', ''])
    expect(ran.stderr).to.match(/^sallyport: the workflow runs on `pull_request_target`.*\n$/)
  })
})
