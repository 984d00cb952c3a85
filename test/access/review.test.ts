/** A review of access: lines of a report that a person confirms and revokes, signed, and what it takes to revoke them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { isNumbers, numbersIn, numbersText } from '../../src/tools/access/line-numbers.ts'
import type { AccessReport } from '../../src/tools/access/report.ts'
import type { AccessReview } from '../../src/tools/access/review.ts'
import { ApprovedPolicies, type Name } from '../approvals/people.ts'
import { sallyport } from '../command.ts'
import type { TestServer } from '../server.ts'

const RULES = 'p, auditor, system/policy, draft, any, *, allow\n'

describe('a review of access', () => {
  let approved: ApprovedPolicies
  let server: TestServer
  let token: string
  before(async () => {
    approved = await ApprovedPolicies.make(undefined, undefined, RULES)
    server = await approved.published.start({}, { demo: true })
    token = await server.token('audrey', 'auditor')
  })
  after(() => approved.remove())

  const run = (...args: readonly string[]) => sallyport(['access', ...args], { env: approved.environment() })
  const report = async (): Promise<AccessReport> => JSON.parse((await run('report', '--format', 'json')).stdout)
  const review = async (name: Name, ...args: readonly string[]) => {
    const { digest } = await report()
    return run('review', '--report', digest, '--key', approved.keyOf(name), ...args)
  }
  const numbersOf = (rows: AccessReport['rows'], fits: (row: AccessReport['rows'][number]) => boolean) =>
    numbersText(rows.flatMap((row, i) => (fits(row) ? [i + 1] : [])))
  const verified = async (value: object) => {
    const file = join(approved.published.root, 'review.json')
    await writeFile(file, JSON.stringify(value))
    return run('verify-review', file)
  }

  it('is signed by a person, and no word of it can be changed afterwards', async () => {
    const confirm = numbersOf((await report()).rows, ({ subject }) => subject === 'alice')
    const { code, stdout, stderr } = await review('zoe', '--confirm', confirm, '--reason', 'fourth quarter')
    expect(code, stderr).to.equal(0)
    const signed: AccessReview = JSON.parse(stdout)
    // The answers about a hundred thousand lines must fit what a server sends.
    expect(stdout.split('\n').length).to.be.lessThan(signed.lines.length + 20)
    expect([signed.by, signed.reason, signed.revoked]).to.deep.equal(['zoe', 'fourth quarter', 0])
    const told = await verified(signed)
    expect([told.code, told.stdout]).to.deep.equal([
      0,
      `\`zoe\` reviewed the access by policy ${signed.revision} at ${signed.time}: confirmed ${confirm}, and revoked nothing.\n`,
    ])
    const [first, ...others] = signed.lines
    const changed: readonly object[] = [
      { by: 'ada' },
      { reason: 'third quarter' },
      { confirmed: signed.confirmed + 1 },
      { lines: others },
      { lines: [{ ...first, subject: 'eve' }, ...others] },
      { lines: signed.lines.map((line) => ({ ...line, decision: 'confirmed' })), confirmed: signed.lines.length },
      { signed: signed.signed.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')) },
    ]
    for (const change of changed) {
      const refused = await verified({ ...signed, ...change })
      expect(refused.code, JSON.stringify(Object.keys(change))).to.equal(2)
      expect(refused.stderr).to.match(
        /`zoe` signed (another `\w+`|other (lines|decisions)) than the file has|nobody in approvals\.yaml has signed it/,
      )
    }
    for (const other of [[], { signed: 1 }, { signed: '', lines: [1] }, 'text']) {
      expect((await verified(other as object)).stderr).to.contain('it is not a review of access')
    }
  })

  it('is refused where nothing could be meant by it', async () => {
    const { rows, digest } = await report()
    const own = numbersOf(rows, ({ subject }) => subject === 'ada')
    const key = ['--key', approved.keyOf('zoe')]
    for (const [ended, sentence] of [
      [await review('zoe'), 'nothing is decided'],
      [await review('zoe', '--confirm', '1-3', '--revoke', '3-4'), 'confirmed and revoked: 3; decide for one'],
      [await review('zoe', '--confirm', `${rows.length + 1}`), `the report has no line ${rows.length + 1}`],
      [await review('ada', '--confirm', own), 'nobody confirms access of their own'],
      [await review('zoe', '--confirm', '2-1'), 'Write numbers of lines in order'],
      [await run('review', '--report', '0'.repeat(64), '--confirm', '1', ...key), 'the access has changed since'],
      [
        await run('review', '--report', digest, '--confirm', '1', '--key', `to-sign:${'a'.repeat(43)}`),
        'nobody in the approvals.yaml in force has this key',
      ],
    ] as const) {
      expect([ended.code, ended.stdout], sentence).to.deep.equal([2, ''])
      expect(ended.stderr).to.contain(sentence)
    }
  })

  it('over HTTP, is signed where the key is, and tells the lines that revoke; a draft of them takes the access', async () => {
    const ask = (name: string, body: object) => server.ask('POST', `/policy/v1/${name}`, { token, body })
    const { rows, digest } = (await ask('report', {})).body.result as AccessReport
    const isRevoked = (row: AccessReport['rows'][number]) => row.subject === 'sam' && row.resource === 'orders'
    const revoke = numbersOf(rows, isRevoked)
    const asked = { report: digest, confirm: numbersOf(rows, ({ subject }) => subject === 'alice'), revoke }
    const { zoe } = approved.people
    const first = await ask('review-access', { ...asked, key: `to-sign:${zoe.kid}` })
    const { toSign } = first.body.result as { toSign: string }
    const signature = Buffer.from(await zoe.sign(Buffer.from(toSign))).toString('base64url')
    const other = await ask('review-access', { ...asked, revoke: '1', key: `signed:${toSign}.${signature}` })
    expect(other.body.detail).to.contain('the signature is for another text')
    const { status, body } = await ask('review-access', { ...asked, key: `signed:${toSign}.${signature}` })
    expect(status).to.equal(200)
    const made = body.result as AccessReview
    expect((await verified(made)).code).to.equal(0)
    const [{ file, line, text } = { file: '', line: 0, text: '' }] = made.revoking.edits
    expect(text).to.match(/^# Revoked in .*\np, user:sam, orders, [\w|]+, any, \*, deny\n# end of policy$/)

    const { files } = (await server.ask('GET', '/policy/v1/files', { token })).body as { files: Record<string, string> }
    const lines = (files[file] ?? '').split('\n').with(line - 1, text ?? '')
    const meaning = await ask('draft', { files: { [file]: lines.join('\n') } })
    expect(meaning.body.check.result.errors).to.equal(0)
    expect(JSON.stringify(meaning.body.diff.result.changes)).to.match(/user:sam[^"]* loses/)
    const folder = await approved.folderWith('revoked', '')
    await writeFile(join(folder, file), lines.join('\n'))
    const after = await run('report', '--format', 'json', '--policies', folder)
    const left = JSON.parse(after.stdout) as AccessReport
    expect(left.rows.filter(isRevoked)).to.deep.equal([])
    expect(left.rows.length).to.equal(rows.length - numbersIn(revoke).length)
  })
})

describe('numbers of lines', () => {
  it('are read as they are written', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (some) => {
        const numbers = some.toSorted((a, b) => a - b)
        const text = numbersText(numbers)
        expect(isNumbers(text)).to.equal(true)
        expect(numbersIn(text)).to.deep.equal(numbers)
      }),
    )
    for (const text of ['', '0', '2-1', '1,1', '3,2', '1-3,3', '1-', 'x', '1, 2', '1-2-3']) {
      expect(isNumbers(text), text).to.equal(false)
    }
  })
})
