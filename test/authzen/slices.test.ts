/** Slices of long work: one in a turn of the event loop, callers in turn, and a bound on the requests under way. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { Problem } from '../../src/base/problems/problem.ts'
import { SliceQueue } from '../../src/server/slices.ts'

/** Takes slices until it may end, and says in which turn of the event loop each began. */
async function slicesOf(
  slices: SliceQueue,
  caller: string,
  count: number,
  note: (caller: string) => void,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    await slices.next(caller)
    note(caller)
  }
}

describe('the slices of long work', () => {
  it('are one for each turn of the event loop, and go round the callers, however many batches one has', async () => {
    const slices = new SliceQueue()
    let turn = 0
    let isRunning = true
    const began: { readonly caller: string; readonly turn: number }[] = []
    const note = (caller: string) => began.push({ caller, turn })
    const counting = (async () => {
      for (; isRunning; turn++) await nextTurn()
    })()
    const many = Array.from({ length: 10 }, () => slicesOf(slices, 'many', 5, note))
    await slicesOf(slices, 'one', 5, note)
    const whenOneEnded = began.length
    await Promise.all(many)
    isRunning = false
    await counting
    // Two at most: a slice may begin just before the slices are counted.
    for (const group of Map.groupBy(began, (one) => one.turn).values()) expect(group.length).to.be.at.most(2)
    expect(whenOneEnded).to.be.below(20)
    expect(began).to.have.length(55)
  })

  it('are decisions, too, once they have taken as long in one turn: callers take turns, and short ones go together', async () => {
    let now = 0
    const slices = new SliceQueue(undefined, () => now)
    const began: string[] = []
    const decide = (caller: string, ms: number, gone = new AbortController().signal) =>
      slices.decide(
        () => caller,
        () => gone,
        () => {
          began.push(caller)
          now += ms
          return caller
        },
      )
    // At once, without a promise.
    expect(decide('many', 6)).to.equal('many')
    const later = [...Array.from({ length: 4 }, () => decide('many', 6)), decide('one', 0), decide('other', 0)]
    const left = new AbortController()
    const failed = decide('many', 6, left.signal)
    left.abort(new Error('gone'))
    expect(began).to.have.length(1)
    await nextTurn()
    expect(began.slice(1)).to.deep.equal(['many'])
    await nextTurn()
    expect(began.slice(2)).to.deep.equal(['one', 'other', 'many'])
    expect(await Promise.all(later)).to.deep.equal(['many', 'many', 'many', 'many', 'one', 'other'])
    expect(await Promise.resolve(failed).catch((error) => error.message)).to.equal('gone')
    expect(began).to.have.length(7)
    await nextTurn()
    expect(decide('many', 0)).to.equal('many')
  })

  it('are also many short decisions that have waited', async () => {
    let now = 0
    const slices = new SliceQueue(undefined, () => now)
    let began = 0
    const decide = (ms: number) =>
      slices.decide(
        () => 'a',
        () => new AbortController().signal,
        () => {
          began += 1
          now += ms
        },
      )
    decide(6)
    const waiting = Array.from({ length: 100 }, () => decide(0.4))
    await nextTurn()
    expect(began).to.equal(14)
    await Promise.all(waiting)
    expect(began).to.equal(101)
  })

  it('are no decisions that take little, however many there are in one turn (control)', () => {
    let now = 0
    const slices = new SliceQueue(undefined, () => {
      now += 0.4
      return now
    })
    const answers = Array.from({ length: 10_000 }, () =>
      slices.decide(
        () => 'a',
        () => new AbortController().signal,
        () => 1,
      ),
    )
    expect(answers.every((answer) => answer === 1)).to.equal(true)
  })

  it('refuse more than a bound of requests under way, of one caller and of all, and take new ones as others end', async () => {
    const slices = new SliceQueue({ ofCaller: 2, ofAll: 3 })
    const held = Promise.withResolvers<void>()
    const refused = (caller: string) =>
      slices
        .run(caller, async () => {})
        .then(
          () => 'taken',
          (error: unknown) => (error instanceof Problem ? error.status : error),
        )
    const running = [slices.run('a', () => held.promise), slices.run('a', () => held.promise)]
    expect(await refused('a')).to.equal(429)
    expect(await refused('b')).to.equal('taken')
    running.push(slices.run('b', () => held.promise))
    expect(await refused('c')).to.equal(429)
    held.resolve()
    await Promise.all(running)
    expect(await refused('a')).to.equal('taken')
  })

  it('count work that fails no longer', async () => {
    const slices = new SliceQueue({ ofCaller: 1, ofAll: 1 })
    await slices.run('a', () => Promise.reject(new Error('failed'))).catch(() => {})
    expect(await slices.run('a', async () => 'taken')).to.equal('taken')
  })
})
