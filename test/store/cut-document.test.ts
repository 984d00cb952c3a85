/** A document cut in its text is what one gets who parses it, picks the fields, and writes them again: no other, none changed. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { MemberCutter } from '../../src/store/lists/member-cutter.ts'
import { ANY_CHARACTER } from '../any-character.ts'
import { cpuMs } from '../measure.ts'

type Cut = (text: string, fields: ReadonlySet<string>) => string

const cutDocument: Cut = (written, names) => new MemberCutter(names).cut(written)

const NAMES = ['a', 'b', 'title', 'items', 'x_1', 'secret']

/** Texts that look like what stands between values. */
const marks = fc.array(
  fc.constantFrom('"', '\\', ',', ':', '{', '}', '[', ']', ' ', 'a', '"secret":1', '\u2028', '\ud800', 'é', '😀', '\n'),
)
const text = fc.oneof(
  marks.map((parts) => parts.join('')),
  fc.string({ unit: ANY_CHARACTER }),
)
const number = fc.oneof(fc.double(), fc.constantFrom(0, -0, 1e21, -1.5e-7, 2 ** 53, 5e-324, 1.7976931348623157e308))
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, text, number, fc.boolean(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(text, tie('value'), { maxKeys: 4 }),
}))
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NAMES) },
  text.filter((one) => !/^(0|[1-9]\d*)$/.test(one)),
)
const document = fc
  .uniqueArray(fc.tuple(name, value), { selector: ([one]) => one, maxLength: 7 })
  .map((members) => JSON.stringify(Object.fromEntries(members)))
const fields = fc.subarray([...NAMES, '__proto__', 'constructor', '']).map((names) => new Set(names))

/** What it means: members in the order of the text. */
function picked(written: string, names: ReadonlySet<string>): string {
  const members = Object.entries(JSON.parse(written)).filter(([one]) => names.has(one))
  return JSON.stringify(Object.fromEntries(members)).slice(1, -1)
}

function cutsLikeParsing(cut: Cut) {
  return fc.property(document, fields, (written, names) => {
    expect(cut(written, names)).to.equal(picked(written, names))
  })
}

/** Documents of one list: most of them have the same members, in the same order. */
const documents = fc
  .tuple(fc.array(document, { maxLength: 3 }), fc.array(fc.nat(2), { maxLength: 8 }))
  .map(([kinds, order]) => order.flatMap((kind) => kinds[kind] ?? []))

function cutsAllLikeParsing(cutterOf: (names: ReadonlySet<string>) => Pick<MemberCutter, 'cut'>) {
  return fc.property(documents, fields, (all, names) => {
    const cutter = cutterOf(names)
    for (const written of all) expect(cutter.cut(written)).to.equal(picked(written, names))
  })
}

describe('a document cut in its text', () => {
  it('has the fields of that name, each as it was written', () => {
    fc.assert(cutsLikeParsing(cutDocument), { numRuns: 3000 })
  })

  it('is cut alike whatever documents the same list has cut before', () => {
    fc.assert(
      cutsAllLikeParsing((names) => new MemberCutter(names)),
      { numRuns: 2000 },
    )
  })

  it('is compared so that a list is found out that takes the members of the document before for those of each', () => {
    const byPlace = (names: ReadonlySet<string>) => {
      let shown: readonly boolean[] | undefined
      const cut = (written: string) => {
        const members = Object.entries(JSON.parse(written))
        shown ??= members.map(([one]) => names.has(one))
        return JSON.stringify(Object.fromEntries(members.filter((_, place) => shown?.[place]))).slice(1, -1)
      }
      return { cut }
    }
    const outcome = fc.check(cutsAllLikeParsing(byPlace), { numRuns: 2000 })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })

  const wrong: Readonly<Record<string, Cut>> = {
    'takes a quote for the end of a text, escaped or not': (written, names) =>
      cutDocument(written.replaceAll('\\"', '"'), names),
    'counts one backslash only': (written, names) => cutDocument(written.replaceAll('\\\\"', '\\"'), names),
    'takes what stands inside of a value for a member': (written, names) =>
      [...written.matchAll(/"(\w+)":(\d+)/g)]
        .filter(([, one = '']) => names.has(one))
        .map(([member]) => member)
        .join(),
    'shows all': (written) => written.slice(1, -1),
  }

  for (const [fault, cut] of Object.entries(wrong)) {
    it(`is compared so that one is found out that ${fault}`, () => {
      const outcome = fc.check(cutsLikeParsing(orNothing(cut)), { numRuns: 3000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }

  it('is brought into form where somebody wrote it by hand', () => {
    const loose = ' { "secret" : "{\\"a\\":1,", "\\u0061": [ 1 , {"secret":2} ] , "b":1e2,"title" :"\\u0041"}\n'
    expect(cutDocument(loose, new Set(['a', 'title', 'b']))).to.equal('"a":[1,{"secret":2}],"b":100,"title":"A"')
    expect(cutDocument('{ }', new Set(['a']))).to.equal('')
    // JSON.parse keeps the last one of a name; so does SQLite's own reader keep one.
    expect(cutDocument('{"a":1, "a":2}', new Set(['a']))).to.equal('"a":2')
  })

  for (const broken of [
    '',
    'null',
    '[]',
    '["a"]',
    '"a"',
    '7',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1}}',
    '{"a":1,}',
    '{"a":tru}',
    '{"a":01}',
    "{'a':1}",
    '{"a":"',
    '{"a":[1}',
    '{"a":[}],"secret":1}',
    '{a:1}',
    '{"a":1}{"a":2}',
  ]) {
    it(`is unavailable, not shown in part, where it is no JSON object: ${broken}`, () => {
      expect(() => cutDocument(broken, new Set(['a']))).to.throw(SyntaxError)
    })
  }

  it('takes time in proportion to its length, whatever stands in it', async () => {
    const hostile = [`\\`.repeat(400_000), '\\"'.repeat(200_000), '['.repeat(400_000), '"'.repeat(400_000)]
    for (const one of hostile) {
      const cut = () => expect(cutDocument(JSON.stringify({ secret: one, a: 1 }), new Set(['a']))).to.equal('"a":1')
      expect(await cpuMs(cut)).to.be.lessThan(2000)
    }
  })
})

/** A cut that can't go on has failed, which is no way to show too much. */
function orNothing(cut: Cut): Cut {
  return (written, names) => {
    try {
      return cut(written, names)
    } catch {
      return 'nothing'
    }
  }
}
