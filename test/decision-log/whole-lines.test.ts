/** Lines stay whole on a descriptor that runs out of room: what was cut is finished first, and nothing stands twice. */
import { expect } from 'chai'
import fc from 'fast-check'
import { CutShort, WholeLines } from '../../src/decision-log/whole-lines.ts'
import { runs } from '../runs.ts'

const NO_ROOM = Object.assign(new Error('no space left'), { code: 'ENOSPC' })

/** A disk that takes so many bytes with each call, in turn; of 0 it says that it is full. */
class Disk {
  readonly #takes: readonly number[]
  #calls = 0
  content = Buffer.alloc(0)

  constructor(takes: readonly number[]) {
    this.#takes = takes
  }

  write = (_: number, bytes: Buffer, offset: number): number => {
    const takes = this.#takes[this.#calls++] ?? bytes.length
    if (takes === 0) throw NO_ROOM
    const taken = bytes.subarray(offset, offset + takes)
    this.content = Buffer.concat([this.content, taken])
    return taken.length
  }
}

/** Tries until everything is there; `next` says how many lines of a failed try need no other one. */
function writeAll(disk: Disk, batches: readonly (readonly string[])[], next: (error: CutShort) => number): void {
  const lines = new WholeLines(1, { write: disk.write })
  for (const batch of [...batches, []]) {
    for (let left = batch; ; ) {
      try {
        lines.write(left.map((line) => `${line}\n`).join(''), 0)
        break
      } catch (error) {
        if (!(error instanceof CutShort)) throw error
        left = left.slice(next(error))
      }
    }
  }
}

const BATCHES = fc.array(fc.array(fc.stringMatching(/^[a-zäß€]{1,9}$/), { maxLength: 5 }), { maxLength: 8 })
const TAKES = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 12 })), { maxLength: 60 })

const isWhole = (next: (error: CutShort) => number) =>
  fc.property(BATCHES, TAKES, (batches, takes) => {
    const disk = new Disk(takes)
    writeAll(disk, batches, next)
    expect(disk.content.toString().split('\n').slice(0, -1)).to.deep.equal(batches.flat())
  })

describe('lines on a descriptor that runs out of room', () => {
  it('are there whole, once and in order, wherever the disk was full', () => {
    fc.assert(
      isWhole(({ begun }) => begun),
      { numRuns: runs(500) },
    )
  })

  it('would stand twice if those that are there, or the one that is begun, were tried again', () => {
    for (const next of [() => 0, ({ whole }: CutShort) => whole]) {
      expect(fc.check(isWhole(next), { seed: 1, numRuns: 500 }).failed).to.equal(true)
    }
  })

  it('begin on a line of their own where somebody before was cut', () => {
    const disk = new Disk([])
    new WholeLines(1, { rest: '\n', write: disk.write }).write('whole\n', 0)
    expect(disk.content.toString()).to.equal('\nwhole\n')
  })

  it('say how many are whole and how many begun', () => {
    const disk = new Disk([5, 0])
    const lines = new WholeLines(1, { write: disk.write })
    const cut = (text: string) => {
      try {
        lines.write(text, 0)
        return undefined
      } catch (error) {
        return error
      }
    }
    expect(cut('one\ntwo\nthree\n')).to.include({ whole: 1, begun: 2, cause: NO_ROOM })
  })
})
