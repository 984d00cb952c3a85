/** How cost grows with size is an exponent with its uncertainty, and a curve. */
import { expect } from 'chai'
import { drawCurves } from '../../bench/report/curve.ts'
import { fitPower, growthOf } from '../../bench/report/fit.ts'
import { growthTable } from '../../bench/report/table.ts'

const SIZES = [10, 100, 1000, 10_000]

function rowsOf(cost: (size: number) => number) {
  return SIZES.map((count) => ({
    subject: `${count} rules`,
    size: { of: 'rules', count },
    quantities: { 'CPU us': [cost(count) * 0.9, cost(count), cost(count) * 1.3] },
  }))
}

describe('cost against size', () => {
  it('that is a power of the size has its exponent, without uncertainty', () => {
    for (const exponent of [-1, 0, 0.5, 1, 2]) {
      const fit = fitPower(SIZES.map((size) => ({ size, value: 3 * size ** exponent })))
      expect(fit?.exponent).to.be.closeTo(exponent, 1e-9)
      expect(fit?.uncertainty).to.be.closeTo(0, 1e-6)
    }
  })

  it('that is no power has an uncertainty, as Student tells it', () => {
    // Logarithms to the base of ten: y = 0, 1, 0, 1 at x = 1, 2, 3, 4; the slope is 0.2, its standard error is the root of 0.08.
    const fit = fitPower(SIZES.map((size, i) => ({ size, value: i % 2 === 0 ? 1 : 10 })))
    expect(fit?.exponent).to.be.closeTo(0.2, 1e-9)
    expect(fit?.uncertainty).to.be.closeTo(4.303 * Math.sqrt(0.08), 1e-3)
  })

  it('needs two points, and cost above nothing', () => {
    expect(fitPower([{ size: 1, value: 1 }])).to.equal(undefined)
    expect(fitPower(SIZES.map((size) => ({ size, value: 0 })))).to.equal(undefined)
    expect(fitPower([1, 10].map((size) => ({ size, value: size })))).to.deep.equal({
      exponent: 1,
      uncertainty: undefined,
    })
  })

  it('goes by the medians of the rounds, and is told and drawn', () => {
    const growths = growthOf([...rowsOf((size) => 2 * size), { subject: 'another', quantities: { ms: [1] } }])
    expect(growths).to.have.length(1)
    expect(growthTable(growths)).to.include('| CPU us, by rules | 10 to 10,000 |        1,000 |   1.000 ± 0.000 |')
    const drawn = drawCurves('a < b', growths)
    expect(drawn).to.include('CPU us: size ^ 1.000').and.to.include('10,000')
    expect(drawn).not.to.match(/NaN|undefined|Infinity/)
    const scattered = growthOf(rowsOf((size) => (size === 1000 ? 4000 : 1)))
    expect(growthTable(scattered)).to.match(/ no fit \|$/)
    expect(drawCurves('scattered', scattered)).to.include('CPU us: no fit').and.not.include('size ^')
    expect(drawCurves('flat', growthOf(rowsOf(() => 5)))).not.to.match(/NaN|undefined|Infinity/)
  })
})
