/** Work that takes turns: callers in rotation, each within its share, and nothing begins that nobody waits for. */
import { expect } from 'chai'
import { TooManyReads } from '../../src/store/errors.ts'
import { Turns } from '../../src/store/lists/turns.ts'

const MOST = { ofCaller: 2, ofAll: 3 }

describe('work that takes turns', () => {
  it('begins at once within the shares, then in turns of the callers', async () => {
    const { turns, begun, begin, end } = started()
    const work = [begin('a'), begin('a'), begin('a'), begin('a'), begin('b'), begin('b'), begin('c')]
    expect(begun).to.deep.equal(['a', 'a', 'b'])
    for (let ended = 0; ended < work.length; ended += 1) await end()
    await Promise.all(work)
    expect(begun.slice(3)).to.deep.equal(['a', 'b', 'c', 'a'])
    expect(await turns.run({ whose: 'a' }, async () => 'free again')).to.equal('free again')
  })

  it('never begins when its client is gone, or when it may not begin, and leaves its turn to others', async () => {
    const { begun, begin, end } = started()
    const gone = new AbortController()
    const work = [begin('a'), begin('a'), begin('b')]
    const left = begin('a', { gone: () => gone.signal })
    const refused = begin('b', {
      mayBegin: () => {
        throw new Error('refused')
      },
    })
    const last = begin('b')
    gone.abort(new Error('gone'))
    const failures = Promise.all([left, refused].map((one) => one.catch((error) => error.message)))
    for (let ended = 0; ended < 4; ended += 1) await end()
    expect(await failures).to.deep.equal(['gone', 'refused'])
    await Promise.all([...work, last])
    expect(begun).to.deep.equal(['a', 'a', 'b', 'b'])
  })

  it('is refused when its turn does not come in time', async () => {
    const { begin, end } = started(20)
    const work = [begin('a'), begin('a')]
    expect(await begin('a').catch((error) => error)).to.be.instanceOf(TooManyReads)
    for (let ended = 0; ended < 2; ended += 1) await end()
    await Promise.all(work)
  })

  /** `begun`: whose work has begun, in this order; `end` ends the oldest that runs. */
  function started(withinMs = 60_000) {
    const turns = new Turns(MOST, withinMs)
    const begun: string[] = []
    const running: (() => void)[] = []
    const begin = (whose: string, turn = {}) =>
      turns.run({ whose, ...turn }, () => {
        begun.push(whose)
        return new Promise<void>((resolve) => running.push(resolve))
      })
    const end = async () => {
      running.shift()?.()
      await new Promise(setImmediate)
    }
    return { turns, begun, begin, end }
  }
})
