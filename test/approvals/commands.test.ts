/** A change of the policy takes the right people: the commands, and a server that follows. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { holds } from '../output-shapes.ts'
import { sequenceOf } from '../published/fixture.ts'
import { policy } from '../release/command.ts'
import { until } from '../until.ts'
import { ApprovedPolicies, approvalsText, type Name, Person } from './people.ts'

/** Commands whose output has the shape of another one. */
const SHAPES = new Map([
  ...['approve', 'reject', 'withdraw'].map((name) => [name, 'review'] as const),
  ['unblock', 'block'],
])
const WIDER = 'p, anonymous, notes, list, any, *, allow\n'
const uncheckedBecause = 'the published policy grants more than the folder of the checker'

describe('the commands of proposals', () => {
  let approved: ApprovedPolicies
  beforeEach(async () => {
    approved = await ApprovedPolicies.make()
  })
  afterEach(() => approved.remove())

  const run = (args: readonly string[], env: Record<string, string> = {}) => policy(args, approved.environment(env))
  const as = (name: Name, ...args: readonly string[]) => run([...args, '--key', approved.keyOf(name)])
  const json = async (...args: readonly string[]) => {
    const { stdout } = await run([...args, '--format', 'json'])
    await holds(
      args.includes('--copy') ? 'policy-history-copy' : `policy-${SHAPES.get(args[0] ?? '') ?? args[0]}`,
      stdout,
    )
    return JSON.parse(stdout)
  }
  const stateOf = async (number: number) => (await json('review', String(number))).state
  const proposed = async (name: Name, lines = WIDER, ...args: readonly string[]) => {
    const folder = await approved.folderWith('next', lines)
    return as(name, 'propose', folder, '--title', 'guests list notes', ...args)
  }

  it('put a widening in force when two others have approved it, and not before', async () => {
    const server = await approved.published.start({}, { uncheckedBecause })
    const made = await proposed('ada')
    expect(made.stderr).to.equal('')
    expect(made.stdout).to.contain('anonymous').and.to.contain('Proposal 1 changes version 1.\n')
    expect(made.stdout).to.contain('It needs the approval of\n  2 people of `security`, because ')
    const early = await run(['publish', '1'])
    expect([early.code, early.stdout]).to.deep.equal([2, ''])
    expect(early.stderr).to.contain('lacks 2 approvals: it needs 2 people of `security`, because ')
    expect(early.stderr).to.contain('ask for them: `zoe` or `tim` may approve it')
    expect((await as('ada', 'approve', '1')).stderr).to.contain('nobody approves a change of their own')
    expect((await as('kim', 'approve', '1')).stdout).to.contain('It still needs the approval of\n  2 people')
    expect((await as('zoe', 'approve', '1')).stdout).to.contain('1 missing')
    expect((await as('zoe', 'approve', '1')).stdout).to.contain('1 missing')
    expect((await run(['publish', '1'])).code).to.equal(2)
    expect((await as('tim', 'approve', '1', '--reason', 'ticket 7')).stdout).to.contain('It has all that it needs.')
    expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(401)
    expect((await run(['publish', '1'])).stdout).to.equal('Proposal 1 is version 2 in database:.\n')
    await until(async () => (await sequenceOf(server)) === 2)
    expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(200)
    const history = await json('history')
    expect(history.versions[0]).to.deep.include({
      number: 2,
      kind: 'approved',
      user: 'ada',
      reason: 'guests list notes',
    })
    const { ada, zoe, tim, kim } = approved.people
    expect(history.versions[0].proposal.number).to.equal(1)
    expect(history.versions[0].proposal.author).to.deep.equal({ by: 'ada', key: ada.kid })
    expect(history.versions[0].proposal.approvers).to.have.deep.members([
      { by: 'zoe', key: zoe.kid },
      { by: 'tim', key: tim.kid },
      { by: 'kim', key: kim.kid },
    ])
    expect(await stateOf(1)).to.equal('published')
    const over = await run(['review', '1'])
    expect(over.stdout)
      .to.contain('It is published.')
      .and.to.not.match(/approve it|needs the approval|sallyport-files/)
    expect((await as('tim', 'approve', '1')).stderr).to.contain('proposal 1 is published: nothing was done')
  })

  it('show a proposal to those who approve it, with what it changes and who has said what', async () => {
    await proposed('ada', WIDER, '--ticket', 'https://tickets.example/7')
    await as('zoe', 'approve', '1', '--reason', 'seen')
    const { stdout } = await run(['review', '1'])
    expect(stdout).to.match(
      /^Proposal 1 by `ada`, \S+: guests list notes\nhttps:\/\/tickets\.example\/7\nIt may be approved/,
    )
    expect(stdout).to.contain('anonymous').and.to.contain('approved by `zoe`').and.to.contain(': seen\n')
    expect(stdout).to.contain('1 missing, `tim` may').and.to.contain('"version 1" -> "proposal 1": 1 widening')
    const folder = join(approved.published.root, 'proposed')
    expect(await json('export', folder, '--proposal', '1')).to.deep.include({
      directory: folder,
      number: 2,
      proposal: 1,
    })
    expect(await readFile(join(folder, 'policy.csv'), 'utf8')).to.contain(WIDER)
    const review = await json('review', '1')
    expect(review.needs).to.have.length(1)
    expect(review.needs[0]).to.deep.include({ missing: 1, open: ['tim'] })
    expect(review.said[0]).to.deep.include({
      by: 'zoe',
      key: approved.people.zoe.kid,
      says: 'approved',
      reason: 'seen',
    })
    expect((await json('proposals')).proposals[0]).to.deep.include({ proposal: 1, state: 'open', by: 'ada', base: 1 })
  })

  it('close what is rejected, withdrawn, out of time, or a change of another version', async () => {
    await proposed('ada')
    for (const reason of [[], ['--reason', ' ']]) {
      expect((await as('zoe', 'reject', '1', ...reason)).stderr).to.contain('give --reason')
    }
    expect((await as('zoe', 'reject', '1', '--reason', 'too much')).stdout).to.contain('`zoe` has rejected proposal 1.')
    expect((await as('tim', 'approve', '1')).stderr).to.contain('proposal 1 was rejected by `zoe`: nothing was done')
    await proposed('ada')
    expect((await as('zoe', 'withdraw', '2')).stderr).to.contain('only `ada` may withdraw it')
    expect((await as('ada', 'withdraw', '2')).stdout).to.contain('has withdrawn proposal 2')
    await proposed('ada', WIDER, '--expires', '1s')
    await until(async () => (await stateOf(3)) === 'expired')
    expect((await run(['publish', '3'])).stderr).to.match(/proposal 3 expired at .*: nothing was done/)
    await proposed('ada')
    await as('zoe', 'approve', '4')
    await as('tim', 'approve', '4')
    // Nothing that anybody may do differs, so one person is enough.
    const other = await approved.folderWith('other', '# reviewed\n')
    expect((await as('tim', 'propose', other, '--title', 'a comment')).stdout).to.contain(
      '1 person, because the text of policy.csv changes',
    )
    await as('kim', 'approve', '5')
    expect((await run(['publish', '5'])).stdout).to.contain('Proposal 5 is version 2')
    const late = await run(['publish', '4'])
    expect(late.stderr).to.contain('proposal 4 changes version 1, and version 2 is in force now')
    expect((await json('proposals')).proposals.map(({ state }: { state: string }) => state)).to.deep.equal([
      'published',
      'void',
      'expired',
      'withdrawn',
      'rejected',
    ])
  })

  it('print each result as JSON of the shape that docs/schemas promises', async () => {
    const folder = await approved.folderWith('next', WIDER)
    const key = (name: Name) => ['--key', approved.keyOf(name)]
    const made = await json('propose', folder, '--title', 't', ...key('ada'))
    expect(made).to.deep.include({ proposal: 1, base: 1, findings: [] })
    expect((await json('approve', '1', ...key('zoe'))).missing[0]).to.deep.include({ missing: 1, open: ['tim'] })
    expect((await json('approve', '1', ...key('tim'))).missing).to.deep.equal([])
    expect(await json('publish', '1')).to.deep.equal({ proposal: 1, version: 2 })
    const blocked = await json('block', 'user:mallory', ...key('ada'))
    expect(blocked).to.deep.include({ blocked: true, changed: false, proposal: 2, version: null })
    expect((await json('reject', '2', '--reason', 'a mistake', ...key('zoe'))).state).to.equal('rejected')
    expect(await json('history', '--verify')).to.deep.include({ broken: null })
    const copy = join(approved.published.root, 'history.json')
    expect(await json('history', '--copy', copy)).to.deep.equal({ file: copy, versions: 2 })
    approved.published.tamper('delete from policy_versions where number = 1')
    expect((await json('history', '--verify')).broken).to.deep.equal({ number: 1, why: 'version 1 is missing' })
  })

  it('say in one sentence what is wrong with a key, a folder, a time or a number', async () => {
    const stranger = join(approved.published.root, 'stranger.pem')
    await writeFile(stranger, new Person().pem)
    const folder = await approved.folderWith('next', WIDER)
    const propose = (...args: readonly string[]) => run(['propose', folder, '--title', 't', ...args])
    expect((await propose('--key', stranger)).stderr).to.contain('nobody in the approvals.yaml in force has this key')
    expect((await propose('--key', folder)).stderr).to.contain("can't be read (it is a folder)")
    expect((await as('ada', 'propose', folder, '--title', ' ')).stderr).to.contain(
      '--title is empty: say in a sentence',
    )
    const bound = 'must be one line of at most 200 characters, all of them visible'
    for (const odd of ['x'.repeat(201), 'two\nlines', 'a\u0007bell', 'turned \u202eround', 'un\u200bseen']) {
      for (const flag of ['--title', '--ticket']) {
        expect((await propose('--key', approved.keyOf('ada'), flag, odd)).stderr).to.contain(`${flag} ${bound}`)
      }
    }
    expect((await propose('--key', approved.keyOf('ada'), '--not-before', '2020-01-01')).stderr).to.contain(
      'The time is in the past.',
    )
    expect((await as('ada', 'propose', approved.published.folder, '--title', 't')).stderr).to.contain(
      'nothing to propose: the version in force has these files already',
    )
    expect((await as('ada', 'approve', '9')).stderr).to.contain('there is no proposal 9')
    await writeFile(join(folder, 'policy.csv'), 'p, nobody\n')
    const faulty = await as('ada', 'propose', folder, '--title', 't')
    expect([faulty.code, faulty.stdout.includes('Nothing was proposed.')]).to.deep.equal([1, true])
    expect((await json('proposals')).proposals).to.deep.equal([])
  })

  it('keep the publishing key for recovery, which needs its name', async () => {
    const env = { POLICY_SIGNING_KEY: approved.published.privateKey() }
    const next = await approved.folderWith('next', WIDER)
    const applied = await run(['apply', next, '--yes'], env)
    expect([applied.code, applied.stderr.includes('asks for approvals (approvals.yaml)')]).to.deep.equal([2, true])
    expect((await run(['rollback', '--yes'], env)).code).to.equal(2)
    expect((await run(['block', 'user:sam'], env)).stderr).to.contain('give --key')
    // All keys are lost: somebody else is written into the file, and the key that was kept offline signs.
    const text = approvalsText({ new: new Person(), newer: new Person() }, 'needs:\n  widens: { people: 1 }\n')
    await writeFile(join(next, 'approvals.yaml'), text)
    const recovered = await run(['apply', next, '--recover', '--yes', '--reason', 'lost keys'], env)
    expect(recovered.stderr).to.equal('')
    expect((await json('history')).versions[0]).to.deep.include({ number: 2, kind: 'recovered', reason: 'lost keys' })
    expect((await as('ada', 'propose', next, '--title', 't')).stderr).to.contain('has this key')
  })

  it('say that a proposal is published, also when the key of its author is no longer in approvals.yaml', async () => {
    await proposed('ada', '# a comment\n')
    await as('kim', 'approve', '1')
    await run(['publish', '1'])
    const next = await approved.folderWith('next', WIDER)
    const text = approvalsText({ new: new Person(), newer: new Person() }, 'needs:\n  widens: { people: 1 }\n')
    await writeFile(join(next, 'approvals.yaml'), text)
    await run(['apply', next, '--recover', '--yes'], { POLICY_SIGNING_KEY: approved.published.privateKey() })
    for (const args of [
      ['review', '1'],
      ['publish', '1'],
    ]) {
      expect((await run(args)).stderr).to.contain("proposal 1 is published, and its author's key is no longer in")
    }
    expect((await run(['proposals'])).stdout)
      .to.contain('published')
      .and.to.not.contain('undefined')
  })

  it('propose the very bytes of the files, and refuse those that no database can keep', async () => {
    const folder = await approved.folderWith('marked', '')
    const roles = join(folder, 'roles.yaml')
    const text = `\uFEFF${await readFile(roles, 'utf8')}`
    await writeFile(roles, text)
    expect((await as('ada', 'propose', folder, '--title', 'a byte order mark')).stderr).to.equal('')
    await as('zoe', 'approve', '1')
    expect((await run(['publish', '1'])).stdout).to.contain('Proposal 1 is version 2')
    const copy = join(approved.published.root, 'copy')
    await run(['export', copy, '--from', 'database:'])
    expect(await readFile(join(copy, 'roles.yaml'), 'utf8')).to.equal(text)
    await writeFile(roles, `${text}# \0\n`)
    expect((await as('ada', 'propose', folder, '--title', 'U+0000')).stderr).to.contain('U+0000: delete it')
  })

  it('block with one approval, and tell what is missing', async () => {
    const server = await approved.published.start()
    const blocked = await as('ada', 'block', 'user:mallory', '--reason', 'stolen laptop')
    expect(blocked.stdout).to.contain('Proposal 1 waits for approvals: user:mallory is as before')
    expect(blocked.stdout).to.contain('It needs the approval of\n  1 person, because ')
    await as('kim', 'approve', '1')
    await run(['publish', '1'])
    await until(() => server.app.policy.active.blocked.has('mallory'))
    expect((await as('ada', 'block', 'user:mallory')).stdout).to.contain('was already blocked')
    const freed = await as('ada', 'unblock', 'user:mallory')
    expect(freed.stdout).to.contain('2 people of `security`')
    expect((await as('ada', 'unblock', 'user:nobody')).stdout).to.contain('was not blocked')
  })

  it('name the open proposal that blocks somebody already, in place of a second one', async () => {
    await proposed('ada')
    await as('ada', 'block', 'user:mallory', '--until', '30d', '--reason', 'stolen laptop')
    for (const [name, until] of [
      ['ada', '1d'],
      ['zoe', '2d'],
    ] as const) {
      const again = await as(name, 'block', 'user:mallory', '--until', until)
      expect([again.code, again.stdout]).to.deep.equal([0, again.stdout])
      expect(again.stdout)
        .to.contain('Proposal 2 blocks user:mallory already, so no other one was made.\nProposal 2 waits for approvals')
        .and.to.contain('It needs the approval of\n  1 person, because ')
    }
    const key = ['--key', approved.keyOf('zoe')]
    const block = (user: string, ...args: readonly string[]) => json('block', user, ...args, ...key)
    expect(await block('user:mallory', '--until', '9d')).to.deep.include({ proposal: 2, made: false, version: null })
    // Somebody else, a longer time, and what is closed are no reasons to make none.
    expect(await block('user:sam')).to.deep.include({ proposal: 3, made: true })
    expect(await block('user:mallory')).to.deep.include({ proposal: 4, made: true })
    await as('tim', 'reject', '4', '--reason', 'too long')
    expect(await block('user:mallory')).to.deep.include({ proposal: 5, made: true })
    await as('tim', 'approve', '5')
    expect(await block('user:mallory'), 'approved').to.deep.include({ proposal: 5, made: false, version: 2 })
    expect(await json('unblock', 'user:mallory', ...key)).to.deep.include({ proposal: 6, made: true })
    expect(await json('unblock', 'user:mallory', ...key)).to.deep.include({ proposal: 6, made: false })
    expect(await block('user:eve')).to.deep.include({ proposal: 7, made: true })
  })

  it('verify the history from the first version, also of a copy, and print the first break', async () => {
    await proposed('ada', '# a comment\n')
    await as('kim', 'approve', '1')
    await run(['publish', '1'])
    await proposed('tim')
    await as('ada', 'approve', '2')
    await as('zoe', 'approve', '2')
    await run(['publish', '2'])
    const copy = join(approved.published.root, 'history.json')
    expect((await run(['history', '--copy', copy])).stdout).to.contain('has 3 versions')
    expect((await run(['history', '--copy', copy])).stderr).to.contain('it exists already')
    const whole = await run(['history', '--verify'])
    expect([whole.code, whole.stdout]).to.deep.equal([0, whole.stdout])
    expect(whole.stdout).to.contain('tim  proposal 2, approved by ada, zoe').and.to.contain('All 3 versions are valid.')
    const offline = (file: string) =>
      run(['history', '--verify', '--from', file], { DATABASE_URL: 'sqlite:/nowhere/x' })
    expect((await offline(copy)).stdout).to.equal(whole.stdout)
    const text = await readFile(copy, 'utf8')
    for (const [change, why] of [
      [(copied: Copied) => ({ ...copied, versions: copied.versions.toSpliced(1, 1) }), 'is 2: version 2 is missing'],
      [(copied: Copied) => ({ ...copied, files: {} }), 'was changed after it was signed'],
      [(copied: Copied) => ({ ...copied, database: { id: 'other', former: [] } }), 'is 1: version 1 was published in'],
    ] as const) {
      const changed = join(approved.published.root, `changed-${why.length}.json`)
      await writeFile(changed, JSON.stringify(change(JSON.parse(text))))
      const { code, stdout } = await offline(changed)
      expect([code, stdout.includes(why)], stdout).to.deep.equal([1, true])
    }
    const none = join(approved.published.root, 'none.json')
    await writeFile(none, JSON.stringify({ ...JSON.parse(text), versions: [] }))
    expect((await offline(none)).stdout).to.equal('There are no versions.\n')
    approved.published.tamper("update policy_versions set signed = replace(signed, 'a', 'b') where number = 3")
    expect((await run(['history', '--verify'])).stdout).to.contain(
      'The first version that is not valid is 3: version 3 ',
    )
  })
})

interface Copied {
  readonly database: object
  readonly versions: readonly object[]
  readonly files: object
}
