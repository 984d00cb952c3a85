/** Lines of JSON are read whole, however the stream is cut. */

import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { LineTooLong, linesIn } from '../src/base/files/lines.ts'

const TRAPS = ['\u2028', '\u2029', '\u0085', '\r', 'a', '😀']

async function all(lines: AsyncIterable<string>): Promise<readonly string[]> {
  return Array.fromAsync(lines)
}

async function* of(chunks: readonly string[]): AsyncGenerator<string> {
  yield* chunks
}

describe('lines of JSON', () => {
  it('end at line feeds alone, wherever the stream is cut', async () => {
    const texts = fc.array(fc.string({ unit: fc.constantFrom(...TRAPS, '\n') }))
    await fc.assert(
      fc.asyncProperty(texts, async (chunks) => {
        const whole = chunks.join('')
        const lines = whole.split('\n')
        const expected = lines.at(-1) === '' ? lines.slice(0, -1) : lines
        expect(await all(linesIn(of(chunks)))).to.deep.equal(expected)
      }),
    )
  })

  it('would be cut in two by node:readline, where a text has U+2028', async () => {
    const line = JSON.stringify({ id: 'a\u2028b' })
    const cut = await all(createInterface({ input: Readable.from([`${line}\n`]) }))
    expect([cut.length, await all(linesIn(of([`${line}\n`])))]).to.deep.equal([2, [line]])
  })

  it('have a bound, however small the pieces are', async () => {
    const endless = of(Array.from({ length: 50 }, () => 'x'))
    const error = await all(linesIn(endless, 20)).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(LineTooLong)
    expect(await all(linesIn(of(['a\n', 'b\n'.repeat(30)]), 20))).to.have.length(31)
  })
})
