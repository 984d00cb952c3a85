/** The strict reader of JSON, for all texts: it takes what JSON.parse takes, less what is refused, and nothing more. */
import { expect } from 'chai'
import fc from 'fast-check'
import { Problem } from '../../src/base/problems/problem.ts'
import { parseStrictJson, readExactly, refuseFaultyJson } from '../../src/resources/json/strict-json.ts'

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
        if (text.includes('\\u0000') || hasLargeNumber(value)) expect(found).to.deep.equal({ code: 'invalid-json' })
        else expect('value' in found && JSON.stringify(found.value, null, space)).to.equal(text)
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
        // JSON.parse mistakes some names with a backslash.
        if (plain && text.includes('\\')) return
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

/** JSON text with whatever the quick way has to notice: repeated names, by escapes too, depth, numbers, characters. */
const NAMES = [
  'a',
  'b',
  '\\u0061',
  '__proto__',
  '',
  'a:b',
  '{[',
  '\\"',
  '\\\\',
  '\\u0000',
  '\\ud800',
  '\\ud83d\\ude00',
  '🔑',
  'é',
]
const TEXTS = NAMES.map((name) => `"${name}"`)
const NUMBERS = ['0', '-1.5e3', '9007199254740991', '9007199254740993', '1e400', '-0', '01']

const { faultyText } = fc.letrec<{ faultyText: string }>((tie) => {
  const space = fc.constantFrom('', '', ' ', '\n\t')
  const member = fc
    .tuple(fc.constantFrom(...TEXTS), space, tie('faultyText'))
    .map(([name, gap, value]) => `${name}${gap}:${gap}${value}`)
  const members = fc.array(member, { maxLength: 4, depthIdentifier: 'text' })
  const items = fc.array(tie('faultyText'), { maxLength: 3, depthIdentifier: 'text' })
  return {
    faultyText: fc.oneof(
      { depthSize: 'medium', depthIdentifier: 'text' },
      fc.constantFrom(...TEXTS, ...NUMBERS, 'true', 'null', 'nul'),
      members.map((all) => `{${all.join()}}`),
      fc.tuple(items, space).map(([all, gap]) => `[${gap}${all.join(`${gap},`)}]`),
      fc
        .tuple(fc.integer({ min: 25, max: 35 }), tie('faultyText'))
        .map(([n, one]) => '['.repeat(n) + one + ']'.repeat(n)),
    ),
  }
})

describe('strict JSON the quick way', () => {
  it('gives what looking for the first fault gives, with the same message', () => {
    fc.assert(
      fc.property(faultyText, (text) => {
        expect(told(() => parseStrictJson(Buffer.from(text)))).to.equal(told(() => slowly(text)))
      }),
      { numRuns: 3000 },
    )
  })

  it('takes no name for another one, as V8 may after a name that ends with a backslash', () => {
    for (const [name, key] of [
      ['\\n', '\n'],
      ['\\"', '"'],
      ['\\u0041', 'A'],
    ]) {
      for (let times = 0; times < 3; times++) parseStrictJson(Buffer.from('{"k":1,"\\\\":2}'))
      expect(parseStrictJson(Buffer.from(`{"k":1,"${name}":3}`))).to.have.own.property(key ?? '', 3)
    }
  })

  it('would be found out if it only parsed', () => {
    const { failed } = fc.check(
      fc.property(faultyText, (text) => {
        expect(told(() => JSON.parse(text))).to.deep.equal(told(() => slowly(text)))
      }),
      { numRuns: 3000, seed: 1 },
    )
    expect(failed).to.equal(true)
  })
})

function slowly(text: string): unknown {
  refuseFaultyJson(text)
  return readExactly(text)
}

/** The value as text, since `__proto__` is a member like others, or the whole message. */
function told(read: () => unknown): string {
  try {
    return JSON.stringify(read())
  } catch (error) {
    return String(error)
  }
}

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
