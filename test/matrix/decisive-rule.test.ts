/** One line that makes many cells wrong is found: without it the policy would answer them as expected. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readMatrices } from '../../src/tools/matrix/read/read-matrices.ts'
import { titleOf } from '../../src/tools/matrix/read/words.ts'
import { runCell } from '../../src/tools/matrix/run/run-cell.ts'
import { withDecisiveRules } from '../../src/tools/matrix/run/why-wrong.ts'
import { soak } from '../runs.ts'
import { startMatrixServer } from './matrix-server.ts'
import { ROOT } from './predict/suites.ts'

const SHIPPED = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8')

describe('the cause of wrong cells', () => {
  it('is the line that allows too much, also where other lines allow a part of it, and in lists', async () => {
    const hole = 'p, member, orders, list|read|update, any, *, allow'
    const [policy, line] = withLine(hole)
    const wrong = await wrongUnder(policy)
    expect(wrong.length).to.be.greaterThan(soak(10, 3))
    expect(wrong.some(({ title }) => title.startsWith('GET /api/orders (none)'))).to.equal(true)
    expect([...new Set(wrong.map(({ cause }) => cause))]).to.deep.equal([`policy.csv:${line} allows it`])
  })

  it('is the line that denies too much', async () => {
    const [policy, line] = withLine('p, support, orders, read, any, *, deny')
    const wrong = await wrongUnder(policy)
    expect(wrong.length).to.be.greaterThan(2)
    expect([...new Set(wrong.map(({ cause }) => cause))]).to.deep.equal([`policy.csv:${line} denies it`])
  })

  it('is no line where two of them allow too much, each by itself (negative control)', async () => {
    const twice = ['p, member, orders, read, any, *, allow', 'p, everyone, orders, read, any, *, allow']
    const wrong = await wrongUnder(withLine(twice.join('\n'))[0])
    const member = wrong.filter(({ title }) => title.startsWith('GET /api/orders/{id} (draft+open) as member'))
    expect(member.map(({ cause }) => cause)).to.have.lengthOf(1)
    expect(member[0]?.cause).to.match(/^policy\.csv:\d+, policy\.csv:\d+ allow it$/)
  })
})

/** The shipped policy with a rule behind the first of its rules, and the line of that rule. */
function withLine(rule: string): readonly [string, number] {
  const lines = SHIPPED.split('\n')
  const at = lines.findIndex((line) => line.startsWith('p,')) + 1
  return [lines.toSpliced(at, 0, rule).join('\n'), at + 1]
}

async function wrongUnder(policy: string) {
  const all = await readMatrices([join(ROOT, 'test/matrix/orders.csv')])
  const cells = soak(
    all,
    all.filter(({ method }) => method === 'GET'),
  )
  const server = await startMatrixServer(cells, { files: { 'policies/policy.csv': policy } })
  const results = []
  for (const cell of cells) {
    results.push({ title: titleOf(cell), expectation: cell, ...(await runCell(server.suite, server, cell)) })
  }
  await server.stop()
  return (await withDecisiveRules(server.suite, results)).filter(({ outcome }) => outcome === 'failed')
}
