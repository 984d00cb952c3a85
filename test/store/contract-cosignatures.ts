/** The contract: what decision logs of one database show each other. */
import { expect } from 'chai'
import type { Outbox } from '../../src/store/contract.ts'
import type { Open } from './engine.ts'

export function describeCosignatures(open: Open): void {
  it('keeps the newest offer of each log, the newest one first', async () => {
    const { outbox } = await open()
    expect(await outbox.offers()).to.deep.equal([])
    await later(outbox, 'a', 'one')
    await later(outbox, 'b', 'two \u0000 …')
    await later(outbox, 'a', 'three')
    expect(await outbox.offers()).to.deep.equal([
      { log: 'a', text: 'three' },
      { log: 'b', text: 'two \u0000 …' },
    ])
  })

  it('keeps the newest signature of each signer of a log, and those of no other log', async () => {
    const { outbox } = await open()
    await outbox.cosign('a', 'b', 'one')
    await outbox.cosign('a', 'b', 'two')
    await outbox.cosign('ab', 'c', 'of another log')
    await outbox.cosign('a-by', 'c', 'of another log')
    expect(await outbox.cosignaturesOf('a')).to.deep.equal([{ by: 'b', note: 'two' }])
    expect(await outbox.cosignaturesOf('b')).to.deep.equal([])
    await outbox.keepCheckpoint('a', 'three')
    expect(await outbox.checkpointOf('a')).to.equal('three')
    expect(await outbox.offers()).to.deep.equal([])
  })

  it('reads no text that is longer than any server writes', async () => {
    const { outbox } = await open()
    await outbox.offer('a', 'x'.repeat(65_000))
    await outbox.offer('b', 'x'.repeat(66_000))
    await outbox.cosign('a', 'b', 'x'.repeat(8000))
    await outbox.cosign('a', 'c', 'x'.repeat(9000))
    expect((await outbox.offers()).map(({ log }) => log)).to.deep.equal(['a'])
    expect((await outbox.cosignaturesOf('a')).map(({ by }) => by)).to.deep.equal(['b'])
  })

  it('reads no offer older than thirty days, forgets it, and keeps the newest two hundred signatures', async () => {
    const { outbox, seeding } = await open()
    const day = (ago: number) => `${Date.now() - ago * 86_400_000}`
    await seeding.writeMark('log offer old', `${day(31)} old`)
    await seeding.writeMark('log offer new', `${day(29)} new`)
    for (let at = 0; at < 205; at++) {
      await seeding.writeMark(`log cosigned a by ${String(at).padStart(3, '0')}`, `${day(at)} note`)
    }
    expect((await outbox.offers()).map(({ log }) => log)).to.deep.equal(['new'])
    expect(await seeding.readMark('log offer old')).not.to.equal(undefined)
    const signed = await outbox.cosignaturesOf('a')
    expect([signed.length, signed[0]?.by, signed.at(-1)?.by]).to.deep.equal([200, '000', '199'])
    await outbox.offer('a', 'text')
    expect((await outbox.offers()).map(({ log, text }) => [log, text])).to.deep.equal([
      ['a', 'text'],
      ['new', 'new'],
    ])
    expect(await seeding.readMark('log offer old')).to.equal(undefined)
    expect(await seeding.readMark('log cosigned a by 199')).not.to.equal(undefined)
    expect(await seeding.readMark('log cosigned a by 200')).to.equal(undefined)
  })

  it('gives two hundred offers at most: those that were written last', async () => {
    const { outbox, seeding } = await open()
    for (let at = 0; at < 205; at++) await seeding.writeMark(`log offer ${at}`, `${Date.now() - 1000 * at} ${at}`)
    const offers = await outbox.offers()
    expect([offers.length, offers[0]?.text, offers.at(-1)?.text]).to.deep.equal([200, '0', '199'])
  })
}

/** The next millisecond of the database may be the same one. */
async function later(outbox: Outbox, log: string, text: string): Promise<void> {
  const until = Date.now() + 2
  while (Date.now() < until) await new Promise(setImmediate)
  await outbox.offer(log, text)
}
