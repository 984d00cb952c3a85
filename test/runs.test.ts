/** The few inputs of `npm test` are enough to meet what a random test counts, or it fails. */
import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { ROOT } from './command.ts'
import { drawing, inTurn, soak } from './runs.ts'

describe('a random test that counts what it met', () => {
  it('draws other inputs until it has met each kind', async () => {
    const met = new Set<number>()
    const property = fc.property(fc.nat(19), (drawn) => void met.add(drawn))
    await drawing(
      () => fc.assert(property, { numRuns: soak(500, 50) }),
      () => expect(met.size).to.equal(20),
    )
  })

  it('draws others in each round, also with a seed', async () => {
    const rounds: string[] = []
    const before = fc.readConfigureGlobal()
    fc.configureGlobal({ ...before, seed: 1 })
    const draw = () => rounds.push(fc.sample(fc.nat(1_000_000), { numRuns: 5 }).join(), '')
    await drawing(draw, () => expect(rounds.length).to.be.above(soak(0, 5)))
    expect(fc.readConfigureGlobal()?.seed).to.equal(1)
    fc.configureGlobal(before ?? {})
    const drawn = rounds.filter((text) => text !== '')
    expect(new Set(drawn).size).to.equal(drawn.length)
  })

  it('fails if a kind is never met, and when an input fails', async () => {
    const reasonOf = (draw: () => unknown, counted: () => unknown) =>
      drawing(draw, counted).then(
        () => undefined,
        (error: unknown) => error,
      )
    let rounds = 0
    const never = await reasonOf(
      () => (rounds += 1),
      () => expect(0).to.be.above(0),
    )
    expect([never instanceof Error, rounds]).to.deep.equal([true, soak(4, 10)])
    const failed = await reasonOf(
      () => fc.assert(fc.property(fc.nat(), () => false)),
      () => undefined,
    )
    expect(failed).to.be.instanceOf(Error)
  })
})

describe('what is slow', () => {
  it('has a turn: none is left out in as many commits as there are turns', () => {
    const all = ['a', 'b', 'c', 'd', 'e']
    const every = Math.max(1, Math.ceil(3 / Number(process.env.SOAK_TIMES ?? 1)))
    const turns = [7, 8, 9].map((seed) => inTurn(all, 3, seed))
    expect(new Set(turns.flat())).to.deep.equal(new Set(all))
    for (const turn of turns) expect(turn.length).to.be.within(Math.floor(5 / every), Math.ceil(5 / every))
  })
})

describe('the priority of tests', () => {
  it('is no higher than that of questions to a server, which would get no time beside three of them', () => {
    const [, niceness] =
      /^const NICENESS = (\d+)$/m.exec(readFileSync(join(ROOT, 'src/cli/question-process.ts'), 'utf8')) ?? []
    expect(getPriority()).to.be.at.least(Number(niceness))
  })
})
