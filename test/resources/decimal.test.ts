/** Decimals: exact sums in any order, and quotients that are the nearest doubles. */
import { expect } from 'chai'
import fc from 'fast-check'
import { DecimalSum, decimalOf, decimalText, divided } from '../../src/base/decimal.ts'
import { runs } from '../runs.ts'

const anyDouble = fc.double({ noNaN: true, noDefaultInfinity: true })

function sumOf(numbers: readonly number[]): string {
  const sum = new DecimalSum()
  for (const one of numbers) sum.add(one)
  return decimalText(sum.total)
}

describe('a decimal', () => {
  it('says each double as JSON does, with all digits', () => {
    fc.assert(
      fc.property(anyDouble, (value) => {
        const text = decimalText(decimalOf(value))
        expect(text).to.match(/^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/)
        expect(Number(text)).to.equal(value === 0 ? 0 : value)
      }),
      { numRuns: runs(2000, 500) },
    )
    expect(decimalText(decimalOf('-1.50E+2'))).to.equal('-150')
    expect(decimalText(decimalOf('61.970'))).to.equal('61.97')
  })

  it('adds up to the same in every order, and to nothing with the opposites', () => {
    fc.assert(
      fc.property(fc.array(anyDouble, { maxLength: 20 }), (numbers) => {
        const sum = sumOf(numbers)
        expect(sumOf(numbers.toReversed())).to.equal(sum)
        expect(sumOf([...numbers, ...numbers.map((one) => -one)])).to.equal('0')
      }),
      { numRuns: runs(1000, 200) },
    )
    // Binary sums differ by their order.
    const some = [0.1, 0.2, 0.3]
    const binary = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)
    expect(binary(some)).to.not.equal(binary(some.toReversed()))
    expect(sumOf([2 ** 53, 1])).to.equal('9007199254740993')
  })

  it('is divided to the nearest double, as whole numbers are', () => {
    const whole = fc.integer({ min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(whole, fc.integer({ min: 1, max: 1_000_000 }), (value, by) => {
        expect(divided(decimalOf(value), by)).to.equal(value === 0 ? 0 : value / by)
      }),
      { numRuns: runs(2000, 500) },
    )
    // Just above the middle of two doubles.
    expect(divided(decimalOf('9007199254740993.0000000000000000000000000001'), 1)).to.equal(9007199254740994)
  })
})
