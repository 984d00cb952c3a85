/** `multipleOf` holds for decimals as people write them: 19.99 is a multiple of 0.01. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import { isMultiple } from '../../src/resources/validate/multiple-of.ts'
import { drawing, runs } from '../runs.ts'

type Judge = (value: number, step: number) => boolean

const cents = fc.record({ units: fc.maxSafeInteger(), digits: fc.integer({ min: 0, max: 6 }) })

/** Decimals with as many digits as a number holds, as texts: `units` of the last digit. */
function text(units: number, digits: number): string {
  const padded = String(Math.abs(units)).padStart(digits + 1, '0')
  const at = padded.length - digits
  return `${units < 0 ? '-' : ''}${padded.slice(0, at)}${digits === 0 ? '' : `.${padded.slice(at)}`}`
}

/** Each multiple passes, and what lies a tenth of a step behind it doesn't. */
function holdsFor(judge: Judge) {
  return fc.property(cents, ({ units, digits }) => {
    const step = Number(`1e-${digits}`)
    const value = Number(text(Math.trunc(units / 10), digits))
    expect(judge(value, step), `${value} of ${step}`).to.equal(true)
    const between = Number(text(Math.trunc(units / 10) * 10 + 1, digits + 1))
    // Beyond 15 digits two texts may mean one number.
    if (Math.abs(units) < 1e15) expect(judge(between, step), `${between} of ${step}`).to.equal(false)
  })
}

function ajv(options: object): Judge {
  const checks = new Map<number, (value: unknown) => boolean>()
  return (value, step) => {
    const check = checks.get(step) ?? new Ajv2020(options).compile({ type: 'number', multipleOf: step })
    checks.set(step, check)
    return check(value)
  }
}

describe('multipleOf', () => {
  it('takes every decimal of as many places as the step, and none of more', async () => {
    await drawing(
      () => fc.assert(holdsFor(isMultiple), { numRuns: runs(2000) }),
      () => {
        for (let n = -200_000; n <= 200_000; n += 7) {
          expect(isMultiple(n / 100, 0.01), `${n / 100}`).to.equal(true)
          expect(isMultiple(Number(((n * 10 + 1) / 1000).toFixed(3)), 0.01), `${n / 100} + 0.001`).to.equal(false)
        }
      },
    )
  })

  for (const [name, judge] of [
    ['division', ajv({})],
    ['a fixed precision', ajv({ multipleOfPrecision: 6 })],
  ] as const) {
    it(`would not hold by ${name} (negative control)`, () => {
      expect(() => fc.assert(holdsFor(judge), { numRuns: 2000, seed: 1 })).to.throw()
    })
  }

  it('takes large and small numbers, and other steps', () => {
    for (const [value, step, isTaken] of [
      [1e22, 2, true],
      [1e300, 1e-300, true],
      [5e-324, 1e-323, false],
      [1e-323, 5e-324, true],
      [-0, 0.01, true],
      [0.3, 0.1, true],
      [7.5, 2.5, true],
      [7.6, 2.5, false],
      [Number.MAX_SAFE_INTEGER, 2, false],
    ] as const) {
      expect(isMultiple(value, step), `${value} of ${step}`).to.equal(isTaken)
    }
  })

  it('is what a schema says of a field, with the fault that it had', () => {
    const server = { type: 'string', readOnly: true }
    const schema = {
      type: 'object',
      'x-resource': { routes: [{ path: '/prices', methods: ['GET'] }] },
      properties: {
        id: server,
        createdAt: server,
        updatedAt: server,
        price: { type: 'number', multipleOf: 0.01, default: 19.99 },
      },
      additionalProperties: false,
    }
    const prices = parseResources([{ name: 'prices.json', text: JSON.stringify(schema) }]).byName.get('prices')
    expect(prices?.validate({ price: 19.99 })).to.deep.equal([])
    expect(prices?.validate({ price: 19.999 })).to.deep.equal([
      { pointer: '/price', detail: 'must be a multiple of 0.01', code: 'multipleOf' },
    ])
  })
})
