/** Long answers are read in steps, and what is read is what JSON.parse reads. */
import { expect } from 'chai'
import fc from 'fast-check'
import { parseInSteps } from '../../packages/console/src/api/long-json.ts'
import { inSlices } from '../../packages/console/src/parts/slices.ts'
import { runs } from '../runs.ts'

function parse(text: string, atOnce?: number): { readonly value: unknown; readonly steps: number } {
  const steps = parseInSteps(text, atOnce)
  for (let count = 0; ; count++) {
    const { done, value } = steps.next()
    if (done) return { value, steps: count }
  }
}

function outcome(read: () => unknown): unknown {
  try {
    return { value: read() }
  } catch (error) {
    return error instanceof SyntaxError ? 'no JSON' : error
  }
}

/**
 * JSON.parse of Node 26.10 is no measure for names that end in a backslash: once it has read `{"a\\":1}`, it takes
 * `{"a\"":1}` for the same. So it gets none.
 */
function hasBackslashAtEnd(text: string): boolean {
  return text.includes('\\\\"')
}

const SIGNS = ['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '1', 'x', '']
const AT_ONCE = fc.integer({ min: 1, max: 60 })

describe('a long answer of JSON', () => {
  it('is what JSON.parse makes of it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), AT_ONCE, fc.constantFrom(0, 1, 2), (value, atOnce, indent) => {
        const text = ` ${JSON.stringify(value, null, indent)}\n`
        fc.pre(!hasBackslashAtEnd(text))
        expect(parse(text, atOnce).value).to.deep.equal(JSON.parse(text))
      }),
      { numRuns: runs(2000) },
    )
  })

  it('is refused where JSON.parse refuses it', () => {
    let refused = 0
    fc.assert(
      fc.property(fc.jsonValue(), AT_ONCE, fc.nat(), fc.constantFrom(...SIGNS), (value, atOnce, place, sign) => {
        const whole = JSON.stringify(value)
        const at = place % (whole.length + 1)
        for (const text of [
          whole.slice(0, at) + sign + whole.slice(at),
          whole.slice(0, at) + sign + whole.slice(at + 1),
        ]) {
          if (hasBackslashAtEnd(text)) continue
          const wanted = outcome(() => JSON.parse(text))
          if (wanted === 'no JSON') refused++
          expect(
            outcome(() => parse(text, atOnce).value),
            text,
          ).to.deep.equal(wanted)
        }
      }),
      { numRuns: runs(2000) },
    )
    expect(refused).to.be.greaterThan(0)
  })

  it('has a name with a quotation mark, whatever was read before', () => {
    parse('{"a\\\\":1}', 1)
    expect(parse('{"a\\"":1}', 1).value).to.deep.equal({ 'a"': 1 })
  })

  it('has own members of every name, and the last of two', () => {
    const text = `{"__proto__":{"a":1},"b":1,"b":2,"c":${JSON.stringify('x'.repeat(99))}}`
    const { value } = parse(text, 8)
    expect(value).to.deep.equal(JSON.parse(text))
    expect(Object.hasOwn(value as object, '__proto__')).to.equal(true)
  })

  it('takes a step for each part, none of which is long', () => {
    const rows = Array.from({ length: 1000 }, (_, i) => ({
      subject: `user:${i}`,
      roles: ['member'],
      text: 'x'.repeat(100),
    }))
    expect(parse(JSON.stringify({ result: { rows } })).steps).to.be.greaterThan(1000)
    expect(parse(JSON.stringify({ result: { rows: rows.slice(0, 10) } })).steps).to.equal(1)
  })
})

describe('work in slices', () => {
  it('lets others work in between, and gives its result', async () => {
    const done: string[] = []
    function* steps(): Generator<void, string> {
      // Without a pause it would never come.
      for (let i = 0; i < 1e9 && done.length === 0; i++) yield
      done.push('steps')
      return 'result'
    }
    setImmediate(() => done.push('another'))
    expect(await inSlices(steps())).to.equal('result')
    expect(done).to.deep.equal(['another', 'steps'])
  })

  it('ends where somebody has left', async () => {
    const leaving = new AbortController()
    function* steps(): Generator<void, never> {
      leaving.abort(new Error('left'))
      for (;;) yield
    }
    const ended = inSlices(steps(), leaving.signal).catch((error: Error) => error.message)
    expect(await ended).to.equal('left')
  })
})
