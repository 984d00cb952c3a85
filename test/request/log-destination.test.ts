/** A log that can't be written stops nobody: its lines are there whole, or counted where they are missing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { WholeLines } from '../../src/decision-log/whole-lines.ts'
import { LogDestination } from '../../src/server/observe/log.ts'

const RETRY_MS = 5

/** A descriptor with room for so many bytes; beyond that it says `code`. */
class Place {
  room = 0
  content = ''
  readonly #code: string

  constructor(code: string) {
    this.#code = code
  }

  write = (_: number, bytes: Buffer, offset: number): number => {
    const taken = bytes.subarray(offset, offset + this.room)
    if (taken.length === 0) throw Object.assign(new Error('no room'), { code: this.#code })
    this.room -= taken.length
    this.content += taken
    return taken.length
  }
}

describe('the log of a server', () => {
  const open = (place: Place) =>
    new LogDestination(new WholeLines(2, { write: place.write }), (lines) => `${lines} missing\n`, RETRY_MS)

  for (const code of ['ENOSPC', 'EIO', 'EAGAIN', 'EPIPE']) {
    it(`goes on after ${code}: what was cut is finished, and a line says how many are missing behind it`, async () => {
      const place = new Place(code)
      const log = open(place)
      place.room = 8
      for (const line of ['one\n', 'two-two\n', 'three\n', 'four\n']) log.write(line)
      expect(place.content).to.equal('one\ntwo-')
      place.room = 5
      await sleep(4 * RETRY_MS)
      expect(place.content).to.equal('one\ntwo-two\n2')
      log.write('five\n')
      place.room = 1000
      for (let i = 0; i < 500 && !place.content.includes('1 missing'); i++) await sleep(RETRY_MS)
      log.write('six\n')
      expect(place.content).to.equal('one\ntwo-two\n2 missing\n1 missing\nsix\n')
      expect(log.lost).to.equal(3)
    })
  }

  it('waits for a reader once, and then not with every line', () => {
    const place = new Place('EAGAIN')
    const log = open(place)
    const started = performance.now()
    for (let i = 0; i < 1000; i++) log.write('line\n')
    // A wait with each line would be 100 s.
    expect(performance.now() - started).to.be.lessThan(10_000)
    expect(log.lost).to.equal(1000)
  })
})
