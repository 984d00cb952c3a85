/** The ids of new objects: each is another one, and they ascend whatever the clock does. */
import { expect } from 'chai'
import { v7 } from 'uuid'
import { newId } from '../../src/server/routes/create-object.ts'

/** So many that the random bytes are fetched again and again, and that many ids are made in one millisecond. */
const MANY = 20_000

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('the id of a new object', () => {
  it('is a UUID of version 7 with the time when it was made', () => {
    const before = Date.now()
    const id = newId()
    expect(id).to.match(VERSION_7)
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).to.be.within(before, Date.now())
  })

  it('is greater than all before it, also within a millisecond and when the clock is set back', () => {
    const first = ascend(newId)
    const later = withClock(1, () => ascend(newId))
    expect(first.faults + later.faults).to.equal(0)
    expect(String(later.ids[0]) > String(first.ids.at(-1))).to.equal(true)
    // Of random ids of one millisecond, many would be less than the one before.
    expect(withClock(1, () => ascend(() => v7({ msecs: 1 }))).faults).to.be.greaterThan(0)
  })

  it('ends with other random bytes each time', () => {
    const ends = new Set(Array.from({ length: MANY }, () => newId().slice(-12)))
    // Two of 20,000 numbers of 48 bits are the same once in a million runs.
    expect(ends.size).to.be.at.least(MANY - 1)
  })
})

function ascend(make: () => string) {
  const ids = Array.from({ length: MANY }, make)
  return { ids, faults: ids.filter((id, at) => at > 0 && id <= (ids[at - 1] as string)).length }
}

function withClock<T>(milliseconds: number, run: () => T): T {
  const { now } = Date
  Date.now = () => milliseconds
  try {
    return run()
  } finally {
    Date.now = now
  }
}
