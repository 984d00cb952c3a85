/** A target is judged by the median, and a ratio is taken within each round. */
import { expect } from 'chai'
import { judge, median, ratios } from '../../bench/report/statistics.ts'
import { rowsTable, targetsTable } from '../../bench/report/table.ts'
import { orderOf } from '../../bench/rounds.ts'

describe('the rounds of the bench', () => {
  it('measure each once, and let nobody always come first or after the same one', () => {
    const all = ['a', 'b', 'c', 'd', 'e']
    const orders = [1, 2, 3, 4, 5].map((round) => orderOf(all, round))
    for (const order of orders) expect(order.toSorted()).to.deep.equal(all)
    expect(new Set(orders.map(([first]) => first)).size).to.be.greaterThan(3)
    const before = orders.map((order) => order[(order.indexOf('c') + 4) % 5])
    expect(new Set(before).size).to.equal(2)
    expect(orderOf([], 1)).to.deep.equal([])
  })
})

describe('the verdicts of the bench', () => {
  it('take the median', () => {
    expect(median([3, 1, 2])).to.equal(2)
    expect(median([4, 1, 2, 3])).to.equal(2.5)
    expect(median([])).to.be.NaN
  })

  it('take ratios within a round, as far as both were measured', () => {
    const row = (...values: number[]) => ({ subject: 'x', quantities: { 'req/s': values } })
    expect(ratios('req/s', row(10, 30, 5), row(20, 20))).to.deep.equal([0.5, 1.5])
    expect(ratios('req/s', row(10), undefined)).to.deep.equal([])
    expect(ratios('req/s', row(10, 0, 30), row(0, 0, 20))).to.deep.equal([1.5])
  })

  it('tell a target that is met from one that is missed', () => {
    expect(judge({ what: 'a', atLeast: 0.4, values: [0.5, 0.4, 0.1] })).to.include({ met: true })
    expect(judge({ what: 'a', atLeast: 0.4, values: [0.3] }).missedBy).to.be.closeTo(0.25, 1e-9)
    expect(judge({ what: 'a', atMost: 20, values: [20] })).to.include({ met: true })
    expect(judge({ what: 'a', atMost: 20, values: [30] }).missedBy).to.be.closeTo(0.5, 1e-9)
  })

  it('never pass without a value', () => {
    expect(judge({ what: 'a', atLeast: 0, values: [] })).to.include({ met: false })
    expect(judge({ what: 'a', atMost: 1, values: [] })).to.include({ met: false })
  })

  it('stand in tables that tell by how much', () => {
    expect(targetsTable([{ what: 'req/s / bare', atLeast: 0.4, values: [0.2, 0.3, 0.4] }])).to.equal(
      [
        '| target       |        bound |        measured |     range |        verdict |',
        '|--------------|-------------:|----------------:|----------:|---------------:|',
        '| req/s / bare | at least 0.4 | 0.3 (0.2 - 0.4) | 0.2 - 0.4 | missed by 25 % |',
      ].join('\n'),
    )
    const five = targetsTable([{ what: 'x', atLeast: 1, values: [5, 1, 2, 4, 3] }])
    expect(five).to.include('| 3 (2 - 4) | 1 - 5 |')
    expect(targetsTable([{ what: 'ms', atMost: 20, values: [60] }])).to.include('missed: 3 times the bound')
    expect(rowsTable([{ subject: 'ours', quantities: { 'req/s': [12_345.6], ms: [] } }])).to.include('| 12,346 |   - |')
  })
})
