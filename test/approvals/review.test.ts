/** What a reviewer gets of a proposal beside its meaning: guarantees, matrices, a replay, and what was not run. */
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { holds } from '../output-shapes.ts'
import { policy } from '../release/command.ts'
import { ApprovedPolicies } from './people.ts'

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
      [['--matrices', join(root, 'none')], /Matrices: not run, \S+none:1: there is no such file or folder/],
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
})

interface Unmet {
  readonly line: number
  readonly before: boolean
}
