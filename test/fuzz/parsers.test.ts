/**
 * No bytes make a parser throw anything but its own error, or take long. Each file of the corpus is an input: examples of
 * the standards, and inputs that once failed. To add one, add a file.
 */
import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import fc from 'fast-check'
import { runs } from '../runs.ts'
import { anyBytes, CORPUS, seedsIn } from './inputs.ts'
import { openParsers, type Parser } from './parsers.ts'

/** Of this thread, so that other programs don't count. An input of a few kilobytes takes a millisecond. */
const MOST_CPU_MICROSECONDS = 2_000_000

const parsers = await openParsers()

describe('a parser', () => {
  it('has inputs in the corpus, and each folder of it has a parser', () => {
    expect(readdirSync(CORPUS).toSorted()).to.deep.equal(parsers.map(({ name }) => name).toSorted())
    for (const parser of parsers) expect(seedsIn(parser).size, parser.name).to.be.at.least(3)
  })

  for (const parser of parsers) {
    describe(`of ${parser.name}`, () => {
      const seeds = seedsIn(parser)

      it('takes or refuses each input of the corpus, as it must', () => {
        for (const [name, bytes] of seeds) {
          expect(() => tryQuickly(parser, bytes), name).not.to.throw()
        }
        // Otherwise it would be tried with refusals alone. A cursor or a proof of another key is never taken.
        const taken = [...seeds.values()].filter((bytes) => parser.keeps(bytes))
        if (!ALWAYS_REFUSED.has(parser.name)) expect(taken).not.to.deep.equal([])
      })

      it('takes or refuses any bytes, and changed ones of the corpus', () => {
        fc.assert(
          fc.property(anyBytes(parser, [...seeds.values()]), (bytes) => {
            tryQuickly(parser, bytes)
          }),
          { numRuns: runs(20_000, 300) },
        )
      })
    })
  }

  it('that throws another error, takes long, or reads something else than it writes, is found', () => {
    const faulty = (keeps: Parser['keeps']): Parser => ({ name: 'target', keeps, words: [], files: [] })
    const find = (parser: Parser) => () =>
      fc.assert(
        fc.property(anyBytes(parser, [Buffer.from('/a%2F')]), (bytes) => tryQuickly(parser, bytes)),
        // A control shows that a fault can be found, not how likely it is.
        { endOnFailure: true, numRuns: 2000, seed: 1 },
      )
    const slow = faulty(() => {
      const before = process.threadCpuUsage()
      while (microsecondsSince(before) < 2000);
      return true
    })
    const throwing = faulty((bytes) => decodeURIComponent(bytes.toString('latin1')) !== '')
    const lossy = faulty((bytes) => {
      if (!Buffer.from(bytes.toString('utf8')).equals(bytes)) throw new Error('other bytes')
      return true
    })
    expect(() => tryQuickly(slow, Buffer.from(''), 1000)).to.throw('microseconds')
    for (const parser of [throwing, lossy]) expect(find(parser)).to.throw('Counterexample')
  })
})

const ALWAYS_REFUSED = new Set(['cursor', 'proof'])

function tryQuickly({ keeps }: Parser, bytes: Buffer, most = MOST_CPU_MICROSECONDS): void {
  const before = process.threadCpuUsage()
  keeps(bytes)
  const took = microsecondsSince(before)
  if (took > most) throw new Error(`it took ${took} microseconds`)
}

function microsecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return user + system
}
