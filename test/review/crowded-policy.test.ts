/** A policy whose rules combine more conditions than a tool can compare: each command says so in one sentence. */
import { appendFile, cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Regions, TooManyRegions } from '../../src/analysis/regions.ts'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'

const run = (...args: readonly string[]) => sallyport(args, { cwd: ROOT })
const PAIRS = Array.from({ length: 20 }, (_, i) => i + 1)

describe('a policy with twenty pairs of conditions on one action', () => {
  let crowded: string
  let firstLine: number

  before(async () => {
    crowded = await mkdtemp(join(tmpdir(), 'sallyport-crowded-'))
    await cp(join(ROOT, 'policies'), crowded, { recursive: true })
    const conditions = ['a', 'b'].flatMap((side, j) =>
      PAIRS.map((i) => `${side}${i}: { network: [192.0.${j}.${i}/32] }`),
    )
    await writeFile(join(crowded, 'conditions.yaml'), `${conditions.join('\n')}\n`)
    const text = (await readFile(join(crowded, 'policy.csv'), 'utf8')).replace(/# end of policy\s*$/, '')
    await writeFile(join(crowded, 'policy.csv'), text)
    firstLine = text.split('\n').length
    await appendFile(
      join(crowded, 'policy.csv'),
      PAIRS.map((i) => `p, member, orders, read, a${i}+b${i}, *, allow\n`).join(''),
    )
  })
  after(() => removeFolder(crowded))

  it('is one finding of `check` for its resource, at the place of a line, beside the findings of others', async () => {
    await appendFile(join(crowded, 'policy.csv'), 'p, member, notes, update, any, *, allow\n')
    const { code, stdout, stderr } = await run('policy', 'check', crowded, '--format', 'json')
    expect([code, stderr]).to.deep.equal([0, ''])
    const { findings } = JSON.parse(stdout) as { findings: readonly { code: string; line: number; column: number }[] }
    const undecided = findings.filter((finding) => finding.code === 'rules-undecided')
    expect(undecided.map(({ line, column }) => [line, column])).to.deep.equal([[firstLine, 26]])
    expect(findings.map((finding) => finding.code)).to.include('unprivileged-write')
  })

  for (const [what, args] of Object.entries({
    '`diff` to it': ['policy', 'diff', 'policies', 'CROWDED'],
    '`diff` from it': ['policy', 'diff', 'CROWDED', 'policies'],
    '`matrix`': ['policy', 'matrix', '--policies', 'CROWDED'],
    '`matrix mutate`': ['matrix', 'mutate', '--policies', 'CROWDED'],
    '`explain`': ['policy', 'explain', 'GET', '/api/orders/{id}', '--policies', 'CROWDED', '--role', 'member'],
  })) {
    it(`is refused by ${what} in one sentence that says how many they are`, async () => {
      const { code, stdout, stderr } = await run(...args.map((arg) => (arg === 'CROWDED' ? crowded : arg)))
      expect([code, stdout]).to.deep.equal([2, ''])
      expect(stderr).to.match(/^sallyport: [^\n]*\b40 conditions\b[^\n]*\n$/)
      if (args[1] === 'diff') expect(stderr).to.include(`line ${firstLine} of policy.csv`)
    })
  }

  it('is decided by `explain` as soon as the conditions are known', async () => {
    const { code, stdout } = await run(
      ...['policy', 'explain', 'GET', '/api/orders/{id}', '--policies', crowded, '--role', 'member'],
      ...['--with', 'a20+b20'],
    )
    expect(code).to.equal(0)
    expect(stdout).to.include('a20+b20')
  })
})

describe('regions', () => {
  it('refuse to grow beyond bounds, and name what they are about', () => {
    const regions = new Regions('orders')
    const pairs = PAIRS.map((i) => regions.both(regions.where(i), regions.where(i + PAIRS.length)))
    expect(() => regions.any(pairs)).to.throw(TooManyRegions, 'orders')
    // In another order the same rules are small.
    const near = new Regions('orders')
    const neighbours = PAIRS.map((i) => near.both(near.where(2 * i), near.where(2 * i + 1)))
    expect(() => near.any(neighbours)).not.to.throw()
  })
})
