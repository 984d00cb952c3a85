/** What a reviewer gets of a proposal beside its meaning: guarantees, matrices, a replay, and what was not run. */
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { signApproval } from '../../src/policy/published/proposal.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'
import { holds } from '../output-shapes.ts'
import { policy } from '../release/command.ts'
import { ApprovedPolicies, approvalsText, Person } from './people.ts'

const WIDER = 'p, support, notes, read, any, *, allow\n'
const MATRIX =
  'method,path,object,support,member\nGET,/api/v1/notes/{id},other,403,403\nGET,/api/v1/notes,none,200,200\n'

describe('the review of a proposal', () => {
  let approved: ApprovedPolicies
  let matrix: string
  beforeEach(async () => {
    approved = await ApprovedPolicies.make()
    matrix = join(approved.published.root, 'matrix')
    await mkdir(matrix)
    await writeFile(join(matrix, 'notes.csv'), MATRIX)
  })
  afterEach(() => approved.remove())

  const propose = async (lines = WIDER, ...args: readonly string[]) =>
    approved.as('ada', 'propose', await approved.folderWith('next', lines), '--title', 't', ...args)
  const review = (...args: readonly string[]) => approved.run('review', '1', '--matrices', matrix, ...args)
  const reviewed = async (...args: readonly string[]) => {
    const { stdout } = await review(...args, '--format', 'json')
    await holds('policy-review', stdout)
    return JSON.parse(stdout)
  }

  it('names the expectations that it does not meet, and those that the version in force meets neither', async () => {
    await writeFile(join(matrix, 'more.csv'), 'method,path,object,support\nGET,/api/orders,none,418\n')
    const made = await propose(WIDER, '--matrices', matrix)
    const lines = [
      'Guarantees: 2 proven.',
      'Matrices: 5 expectations, 2 not met.',
      `  ${matrix}/notes.csv:2:30: GET /api/v1/notes/{id} (other) as support is 403: the policy answers 200`,
      `  ${matrix}/more.csv:2:22: GET /api/orders (none) as support is 418: the policy answers 200 [all] (not met by version 1 either)`,
    ]
    expect(made.stdout).to.contain(`${lines.join('\n')}\n\nProposal 1 changes`)
    expect((await review()).stdout).to.contain(
      `${lines.join('\n')}\nReplay: not run, no log at hand: there is no file `,
    )
    const { matrices, guarantees, replay } = await reviewed()
    expect(matrices).to.deep.include({ expectations: 5, unpredictable: 0, more: 0 })
    expect(matrices.unmet.map(({ line, before }: Unmet) => [line, before])).to.deep.equal([
      [2, false],
      [2, true],
    ])
    expect(guarantees.map(({ status }: { status: string }) => status)).to.deep.equal(['proven', 'proven'])
    expect(replay.notRun).to.contain('publisher/decisions.log: name its files with --log')
  })

  it('replays the last week of the log at hand, or of the files that are named', async () => {
    const server = await approved.published.start()
    const [support, member] = [await server.token('sam', 'support'), await server.token('mia', 'member')]
    for (const token of [support, member, undefined]) await server.ask('GET', '/api/v1/notes', { token })
    const records = (await server.decisions()).map((record) => JSON.stringify(record))
    await approved.published.stop()
    const log = join(approved.published.root, 'publisher', 'decisions.log')
    await mkdir(join(approved.published.root, 'publisher'), { recursive: true })
    const old = (records[0] ?? '').replace(/"time":"\d{4}/, '"time":"2001')
    await writeFile(`${log}.1`, `${old}\n`)
    await writeFile(`${log}.2`, `${old}\n`)
    await utimes(`${log}.2`, 0, Date.now() / 1000 - 8 * 86_400)
    await writeFile(log, `${records.join('\n')}\nno record\n`)
    await propose('p, support, notes, list, any, *, deny\n')
    const { stdout } = await review()
    expect(stdout).to.match(/\nReplay since \S+: 3 requests decided again: 2 the same, 1 different\.\n/)
    expect(stdout).to.contain('records outside the time of --since and --until: 1')
    expect(stdout).to.contain('lines that are not decision records: 1')
    expect(stdout).to.contain('1 x support: GET /api/v1/notes: 200 -> 403 forbidden')
    const { replay } = await reviewed()
    const { files, since, ...report } = replay
    await holds('policy-replay', JSON.stringify(report))
    expect([files, report.leftOut]).to.deep.equal([[`${log}.1`, log], 1])
    expect(Date.now() - Date.parse(since)).to.be.within(7 * 86_400_000 - 60_000, 7 * 86_400_000 + 60_000)
    const all = (await reviewed('--log', log, '--since', '2000-01-01')).replay
    expect([all.files, all.leftOut, all.differences.length]).to.deep.equal([[log], 0, 1])
  })

  it('says what was not run, and why, and shows all the rest', async () => {
    await propose()
    const root = approved.published.root
    await writeFile(join(root, 'packed.log'), Buffer.from('1f8b0800', 'hex'))
    await mkdir(join(root, 'empty'))
    await writeFile(join(root, 'faulty.csv'), 'method,path,object,support\nGET,/api/v1/notes,none,perhaps\nGET,x\n')
    for (const [args, why] of [
      [['--log', join(root, 'none.log')], /Replay: not run, \S+none\.log is not a file: name decision logs\.\n/],
      [['--log', root], /Replay: not run, \S+ is not a file/],
      [['--log', join(root, 'packed.log')], /Replay: not run, \S+packed\.log is compressed: unpack it first/],
      [['--matrices', join(root, 'none')], /Matrices: not run, \S+none: there is no such file or folder/],
      [['--matrices', join(root, 'empty')], /Matrices: not run, \S+empty has no matrix: name some with --matrices\.\n/],
      [
        ['--matrices', join(root, 'faulty.csv')],
        /Matrices: not run, \S+faulty\.csv:2: .*, and \d more faults?: fix that/,
      ],
    ] as const) {
      const { code, stdout } = await approved.run('review', '1', ...args)
      expect([code, stdout]).to.deep.equal([0, stdout])
      expect(stdout).to.match(why).and.to.contain('support gains read on notes').and.to.contain('2 missing, ')
    }
    const env = approved.environment({ DECISION_LOG_FILE: '-' })
    const { stdout } = await policy(['review', '1', '--matrices', matrix], env)
    expect(stdout).to.contain('Replay: not run, no log at hand: the server writes it to standard output')
  })

  it('names the signatures that do not count, and why', async () => {
    await propose()
    await propose('# a comment\n')
    await approved.as('kim', 'approve', '1')
    await approved.as('zoe', 'approve', '1')
    const second = approved.people.zoe.second
    if (!second) throw new Error('zoe has a second key')
    await approved.published.within(approved.published.versions(), async (versions) => {
      const [one, two] = (await versions.proposalsAfter(0)).map(({ signed }) => signed) as [string, string]
      const approve = (signer: Person, of = one, more = {}) =>
        signApproval({ of: digestOfText(of), says: 'approved', time: new Date().toISOString(), ...more }, signer)
      const forged = await approve(approved.people.tim)
      for (const text of [
        await approve(second),
        await approve(approved.people.ada),
        await approve(approved.people.tim, two),
        await approve(approved.people.tim, one, { time: '2999-01-01T00:00:00.000Z' }),
        await approve(new Person()),
        `${forged.slice(0, -3)}${forged.endsWith('AAA') ? 'BBB' : 'AAA'}`,
        'no signature\u202e\n',
      ]) {
        await versions.addSignature(1, text)
      }
    })
    const { stdout } = await review()
    expect(stdout).to.contain('1 missing, `tim` may')
    const { uncounted, since } = await reviewed()
    expect(since).to.equal(null)
    const whys = uncounted.map(({ by, why }: Uncounted) => `${by}: ${why}`)
    expect(whys.toSorted()).to.deep.equal([
      'ada: nobody approves a change of their own',
      'kim: no need of it asks for `kim`',
      ...Array(4).fill('null: nobody of approvals.yaml has signed it for this proposal, or it was changed afterwards'),
      'tim: it is from after the end of the proposal',
      'zoe: `zoe` has approved already',
    ])
    for (const { why } of uncounted) expect(stdout).to.contain(`: ${why}\n`)
    // Instances take each signature that isn't an approval for an end, whoever wrote it.
    await approved.published.within(approved.published.versions(), async (versions) => {
      const [{ signed } = { signed: '' }] = await versions.proposalsAfter(0)
      const said = { of: digestOfText(signed), says: 'withdrawn' as const, time: new Date().toISOString() }
      await versions.addSignature(1, await signApproval(said, approved.people.kim))
    })
    expect(await reviewed()).to.deep.include({ state: 'withdrawn', why: 'was withdrawn by `kim`', uncounted: [] })
  })

  it('tells what has changed since it was proposed, and which approvals that made void', async () => {
    await propose()
    await approved.as('zoe', 'approve', '1')
    await approved.as('tim', 'approve', '1')
    expect((await reviewed()).uncounted).to.deep.equal([])
    const other = await approved.folderWith('other', '# a comment\n')
    await approved.as('tim', 'propose', other, '--title', 'a comment')
    await approved.as('kim', 'approve', '2')
    await approved.run('publish', '2')
    const { stdout } = await review()
    expect(stdout).to.contain('It changes version 1, and version 2 is in force now')
    expect(stdout).to.match(/These signatures don't count:\n {2}approved by `\w+`, \S+: version 2 is in force now\n/)
    expect(stdout).to.match(
      /Since it was proposed:\n {2}version 2 by tim, \S+: a comment\n {2}changed files: policy\.csv\n$/,
    )
    // Zoe's key is lost.
    const { ada, tim, kim } = approved.people
    await writeFile(join(other, 'approvals.yaml'), approvalsText({ ada, tim, kim }))
    const env = approved.environment({ POLICY_SIGNING_KEY: approved.published.privateKey() })
    await policy(['apply', other, '--recover', '--yes', '--reason', 'a lost key'], env)
    const { state, uncounted, since } = await reviewed()
    expect(state).to.equal('void')
    expect(uncounted.map(({ by, why }: Uncounted) => `${by}: ${why}`)).to.have.members([
      'tim: version 3 is in force now',
      'zoe: the key of `zoe` is not in approvals.yaml any more',
    ])
    expect(since.versions.map(({ number, title }: Since) => [number, title])).to.deep.equal([
      [2, 'a comment'],
      [3, 'a lost key'],
    ])
    expect(since.files).to.deep.equal(['approvals.yaml', 'policy.csv'])
    // Ada's too: she made the proposal.
    await writeFile(join(other, 'approvals.yaml'), approvalsText({ tim, kim }, 'needs:\n  widens: { people: 1 }\n'))
    expect((await policy(['apply', other, '--recover', '--yes'], env)).stderr).to.equal('')
    const why =
      'changes version 1, which is not in force any more, and was signed by nobody of the approvals.yaml in force'
    expect((await review()).stderr).to.contain(`proposal 1 ${why}`)
  })
})

interface Uncounted {
  readonly by: string | null
  readonly why: string
}

interface Since {
  readonly number: number
  readonly title: string
}

interface Unmet {
  readonly line: number
  readonly before: boolean
}
