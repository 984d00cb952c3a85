/** The strict reader of JSON, for all texts: it takes what JSON.parse takes, less what is refused, and nothing more. */
import { expect } from 'chai'
import fc from 'fast-check'
import { Problem } from '../../src/base/problems/problem.ts'
import { parseStrictJson } from '../../src/server/input/strict-json.ts'

/** The value, or the problem's code; anything else that is thrown fails the test. */
function parse(text: string): { value: unknown } | { code: string } {
  try {
    return { value: parseStrictJson(Buffer.from(text)) }
  } catch (error) {
    if (error instanceof Problem) return { code: error.code }
    throw error
  }
}

const json = fc.jsonValue({ maxDepth: 20, stringUnit: 'grapheme' })

describe('strict JSON', () => {
  it('reads every value that JSON.stringify writes, unless a number is too large or text has U+0000', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        const found = parse(text)
        const refused = text.includes('\\u0000') || hasLargeNumber(value)
        expect(found).to.deep.equal(refused ? { code: 'invalid-json' } : { value: JSON.parse(text) })
      }),
    )
  })

  it('never takes what JSON.parse refuses, and refuses it with a problem', () => {
    const pieces = fc.constantFrom(
      ...'{}[]":,\\/u0123456789abefnrtlsdE+-.*\' \n\t\r\u00a0\u2028\u0001',
      'null',
      'true',
      '//',
      '/*',
    )
    const edit = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), put: pieces, drop: fc.nat(2) })
    fc.assert(
      fc.property(json, fc.array(edit, { minLength: 1, maxLength: 4 }), (value, edits) => {
        const edited = edits.reduce((before, { at, put, drop }) => {
          const place = Math.floor(at * (before.length + 1))
          return before.slice(0, place) + put + before.slice(place + drop)
        }, JSON.stringify(value))
        // An edit can halve a character, and UTF-8 has no halves.
        const text = edited.toWellFormed()
        const found = parse(text)
        const plain = plainly(text)
        if (plain) expect(found).to.deep.be.oneOf([plain, { code: 'invalid-json' }])
        else expect(found).to.deep.equal({ code: 'invalid-json' })
      }),
      { numRuns: 2000 },
    )
  })

  it('never fails in another way, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        parse(Buffer.from(bytes).toString('latin1'))
        try {
          parseStrictJson(bytes)
        } catch (error) {
          expect(error).to.be.instanceOf(Problem)
        }
      }),
      { numRuns: 1000 },
    )
  })
})

function plainly(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function hasLargeNumber(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLargeNumber)
}
