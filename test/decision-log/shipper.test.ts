/** Records of writes: from the store's outbox into the log, in order, each once, whatever fails in between. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { LogFile } from '../../src/decision-log/log-file.ts'
import { type ShippedOutbox, startShipper } from '../../src/decision-log/shipper.ts'
import type { Sink } from '../../src/decision-log/sink.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { removeNow } from '../ends-with-tests.ts'
import { creation, RESOURCES } from '../store/fixture.ts'
import { until } from '../until.ts'

const HOUR_MS = 3_600_000
const hoursAhead = () => new Date(Date.now() + 3 * HOUR_MS)

type Opened = Awaited<ReturnType<typeof openSqlite>>

describe('shipping the records of writes', () => {
  let folder: string
  let file: string
  let opened: Opened
  let sink: LogFile
  let errors: unknown[]

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
    file = join(folder, 'decisions.log')
    opened = await openSqlite({ file: join(folder, 'test.db'), resources: RESOURCES, now: () => new Date() })
    sink = new LogFile({ file, maxBytes: 1e9, keep: 1 })
    errors = []
  })
  afterEach(async () => {
    sink.close()
    await opened.store.close()
    removeNow(folder)
  })

  const start = (on: { outbox?: ShippedOutbox; sink?: Sink } = {}) =>
    startShipper(on.outbox ?? opened.outbox, on.sink ?? sink, (error) => error !== undefined && errors.push(error))

  let made = 0
  async function write(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      made += 1
      const record = JSON.stringify({ record: 'decision', time: new Date().toISOString(), requestId: `r${made}` })
      await opened.store.create(creation(`object-${made}`, {}), { record })
    }
  }

  const logged = () =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  const sequences = () => logged().map(({ write }) => write)
  const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1)

  it('writes a damaged record as one line that says so, and the log stays one that a server opens', async () => {
    await write(6)
    const database = new DatabaseSync(join(folder, 'test.db'))
    const damaged = ['null', 'not json', '{"a":1}\n{"b":2}', '', '{"record":"decision"']
    damaged.forEach((text, i) => {
      database.prepare('update outbox set record = ? where sequence = ?').run(text, i + 1)
    })
    database.close()
    const shipper = await start()
    await shipper.close()
    expect(sequences()).to.deep.equal(upTo(6))
    expect(logged().map((line) => line.damaged)).to.deep.equal([...damaged, undefined])
    sink.reopen()
    expect(errors).to.deep.equal([])
  })

  it('writes what waits at the start, and what comes, in the order of the commits', async () => {
    await write(3)
    const shipper = await start()
    await write(1200)
    shipper.wake()
    await shipper.close()
    expect(sequences()).to.deep.equal(upTo(1203))
    expect(await opened.outbox.waiting(1)).to.deep.equal([])
    expect(errors).to.deep.equal([])
  })

  it('ships many records with few batches, the first at once, and all before it ends', async () => {
    let batches = 0
    const { outbox } = opened
    const shipped = (sequence: number) => {
      batches += 1
      return outbox.shipped(sequence)
    }
    const counting: ShippedOutbox = {
      waiting: (limit) => outbox.waiting(limit),
      note: (records) => outbox.note(records),
      shipped,
      hold: (holder) => outbox.hold(holder),
      release: (holder) => outbox.release(holder),
    }
    const shipper = await start({ outbox: counting })
    const began = performance.now()
    for (let n = 0; n < 40; n += 1) {
      await write(10)
      shipper.wake()
    }
    const passed = performance.now() - began
    await shipper.close()
    expect(sequences()).to.deep.equal(upTo(400))
    // One at the start of each pause, and the last one.
    expect(batches).to.be.at.most(passed / 18 + 2)
  })

  it('ships to no second log what a slow disk holds up in the first', async () => {
    const other = await openSqlite({ file: join(folder, 'test.db'), resources: RESOURCES, now: () => new Date() })
    const second: string[] = []
    const slow: Sink = { ...sinkOf(sink), sync: () => sleep(1800) }
    const beside: Sink = { ...sinkOf(sink), append: (lines) => second.push(lines), holds: async () => new Set() }
    await write(3)
    const shippers = [await start({ sink: slow }), await start({ outbox: other.outbox, sink: beside })]
    for (let i = 0; i < 16; i++) {
      await sleep(100)
      shippers[1]?.wake()
    }
    await Promise.all(shippers.map((shipper) => shipper.close()))
    await other.store.close()
    expect(sequences()).to.deep.equal(upTo(3))
    expect(second).to.deep.equal([])
  })

  it('is not held by who got it when the time of it was over', async () => {
    let time = Date.now()
    const late = await openSqlite({ file: join(folder, 'late.db'), resources: RESOURCES, now: () => new Date(time) })
    const held = late.outbox.hold('a')
    time += 900
    expect(await held).to.equal(true)
    await late.outbox.release('a')
    const over = late.outbox.hold('a')
    time += 1001
    expect(await over).to.equal(false)
    await late.store.close()
  })

  it('ships soon what a process left whose clock was hours ahead', async () => {
    await write(3)
    const ahead = await openSqlite({ file: join(folder, 'test.db'), resources: RESOURCES, now: hoursAhead })
    expect(await ahead.outbox.hold('a process that was killed')).to.equal(true)
    await ahead.store.close()
    const shipper = await start()
    await until(() => sequences().length >= 3)
    await shipper.close()
    expect(sequences()).to.deep.equal(upTo(3))
  })

  it('leaves the outbox to who is at work, also when the clock is put back by hours, or set right', async () => {
    let ahead = 0
    const now = () => new Date(Date.now() + ahead)
    const [one, other] = await Promise.all(
      ['one', 'other'].map(() => openSqlite({ file: join(folder, 'test.db'), resources: RESOURCES, now })),
    )
    if (!one || !other) throw new Error('not opened')
    const held: (readonly [boolean, boolean])[] = []
    for (const step of [0, -3 * HOUR_MS, 0.4 * 1000, -0.4 * 1000]) {
      ahead += step
      for (let i = 0; i < 30; i++) {
        held.push([await one.outbox.hold('one'), await other.outbox.hold('other')])
        await sleep(50)
      }
    }
    expect(held.filter(([mine, others]) => !mine || others)).to.deep.equal([])
    await Promise.all([one.store.close(), other.store.close()])
  })

  it('asks the log for nothing at the first write of a start that nothing was left for', async () => {
    let asked = 0
    const counting: Sink = { ...sinkOf(sink), holds: async () => new Set([`${++asked}`]) }
    const shipper = await start({ sink: counting })
    await write(3)
    await shipper.close()
    expect([asked, sequences()]).to.deep.equal([0, upTo(3)])
    await write(1)
    await (await start({ sink: counting })).close()
    expect(asked).to.equal(1)
  })

  it('loses nothing while the log can not be written, tells so, and goes on by itself', async () => {
    let broken = true
    const failing: Sink = {
      append: (lines) => {
        if (broken) throw new Error('no space')
        sink.append(lines)
      },
      sync: () => sink.sync(),
      reopen: () => sink.reopen(),
      holds: (wanted, since) => sink.holds(wanted, since),
      close: () => undefined,
    }
    const shipper = await start({ sink: failing })
    await write(5)
    shipper.wake()
    await until(() => errors.length > 0)
    expect(String(errors[0])).to.contain('no space')
    expect(sequences()).to.deep.equal([])
    broken = false
    await until(() => sequences().length >= 5)
    await shipper.close()
    expect(sequences()).to.deep.equal(upTo(5))
  })

  it('writes nothing twice when the outbox can not forget what was shipped', async () => {
    let refusals = 3
    const { outbox } = opened
    const stubborn: ShippedOutbox = {
      waiting: (limit) => outbox.waiting(limit),
      note: (records) => outbox.note(records),
      hold: (holder) => outbox.hold(holder),
      release: (holder) => outbox.release(holder),
      shipped: async (sequence) => {
        if (refusals-- > 0) throw new Error('busy')
        await outbox.shipped(sequence)
      },
    }
    const shipper = await start({ outbox: stubborn })
    for (let i = 0; i < 5; i++) {
      await write(2)
      shipper.wake()
      await until(() => refusals <= 0 || errors.length > i)
    }
    await shipper.close()
    expect(sequences()).to.deep.equal(upTo(10))
    expect(errors).to.have.length(3)
  })

  it('writes nothing twice that a process before it had written and not taken out of the outbox', async () => {
    await write(4)
    const [first, second] = await opened.outbox.waiting(2)
    sink.append(`${first?.record.slice(0, -1)},"write":1}\n{"record":"decision","requestId":"read"}\n`)
    sink.append(`${second?.record.slice(0, -1)},"write":2}\n`)
    const shipper = await start()
    await shipper.close()
    expect(sequences()).to.deep.equal([1, undefined, 2, 3, 4])
  })

  it('takes a record for shipped only if it is the same: the log may be of another database', async () => {
    await write(2)
    sink.append('{"record":"decision","requestId":"another","write":1}\n')
    const shipper = await start()
    await shipper.close()
    expect(sequences()).to.deep.equal([1, 1, 2])
  })

  it('of two processes on one database, one ships', async () => {
    const second = await openSqlite({ file: join(folder, 'test.db'), resources: RESOURCES, now: () => new Date() })
    const shippers = [await start(), await start({ outbox: second.outbox })]
    for (let i = 0; i < 20; i++) {
      await write(10)
      for (const shipper of shippers) shipper.wake()
    }
    for (const shipper of shippers) await shipper.close()
    await second.store.close()
    expect(sequences()).to.deep.equal(upTo(200))
  })

  it('without the hold, two would write records twice', async () => {
    const { outbox } = opened
    const free: ShippedOutbox = { ...forwarding(outbox), hold: async () => true }
    const slow: Sink = {
      append: (lines) => sink.append(lines),
      sync: () => sleep(5),
      reopen: () => undefined,
      holds: async () => new Set(),
      close: () => undefined,
    }
    const shippers = [await start({ outbox: free, sink: slow }), await start({ outbox: free, sink: slow })]
    await write(20)
    for (const shipper of shippers) shipper.wake()
    for (const shipper of shippers) await shipper.close()
    expect(sequences().length).to.be.greaterThan(20)
  })
})

function forwarding(outbox: ShippedOutbox): ShippedOutbox {
  return {
    waiting: (limit) => outbox.waiting(limit),
    note: (records) => outbox.note(records),
    hold: (holder) => outbox.hold(holder),
    release: (holder) => outbox.release(holder),
    shipped: (sequence) => outbox.shipped(sequence),
  }
}

function sinkOf(file: LogFile): Sink {
  return {
    append: (lines) => file.append(lines),
    sync: () => file.sync(),
    reopen: () => file.reopen(),
    holds: (wanted, since) => file.holds(wanted, since),
    close: () => undefined,
  }
}
