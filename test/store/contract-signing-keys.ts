/** The contract of SigningKeys as tests; every engine that keeps signing keys passes them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { SigningKeys } from '../../src/store/signing-keys.ts'
import type { TestInstances } from './contract-policy-versions.ts'
import { failure } from './fixture.ts'

/** A text that no engine may change: any Unicode, quotes, ends of lines. */
const ODD_TEXT = `a'b"c\\d\r\n\u{1f511}é\u0301 \t%s $1 ?`
const HOUR = 3_600_000

export function signingKeysContract(engine: string, create: () => Promise<TestInstances<SigningKeys>>): void {
  describe(`signing keys on ${engine}`, () => {
    let database: TestInstances<SigningKeys>
    beforeEach(async () => {
      database = await create()
    })
    afterEach(() => database.remove())
    const open = () => database.open()
    const textsOf = async (keys: SigningKeys) => (await keys.read()).keys.map(({ number, text }) => [number, text])

    it('has no key at first, and tells its time', async () => {
      const { now, keys } = await (await open()).read()
      expect(keys).to.deep.equal([])
      expect(now).to.be.within(Date.now() - HOUR, Date.now() + HOUR)
      expect(Number.isSafeInteger(now)).to.equal(true)
    })

    it('keeps what was added, and shows it to every instance at once', async () => {
      const [first, second] = [await open(), await open()]
      expect(await first.add(1, ODD_TEXT)).to.equal(true)
      expect(await textsOf(second)).to.deep.equal([[1, ODD_TEXT]])
      expect(await second.add(2, 'two')).to.equal(true)
      const { now, keys } = await first.read()
      expect(keys.map(({ number, text, tokensEndAt }) => [number, text, tokensEndAt])).to.deep.equal([
        [1, ODD_TEXT, 0],
        [2, 'two', 0],
      ])
      for (const { createdAt } of keys) expect(now - createdAt).to.be.within(0, 60_000)
    })

    it('adds only the next number', async () => {
      const keys = await open()
      for (const number of [0, 2, -1]) expect(await keys.add(number, 'x')).to.equal(false)
      expect(await keys.add(1, 'one')).to.equal(true)
      for (const number of [1, 3]) expect(await keys.add(number, 'x')).to.equal(false)
      expect(await textsOf(keys)).to.deep.equal([[1, 'one']])
    })

    it('lets one of several instances add a number, and tells the others', async () => {
      const instances = await Promise.all(Array.from({ length: 4 }, open))
      for (let number = 1; number <= 5; number++) {
        const added = await Promise.all(instances.map((keys, i) => keys.add(number, `by ${i}`)))
        expect(added.filter(Boolean)).to.have.length(1)
        expect((await textsOf(await open())).at(-1)).to.deep.equal([number, `by ${added.indexOf(true)}`])
      }
    })

    it('begins with all the keys that it is given, or with none of them', async () => {
      const [first, second] = [await open(), await open()]
      const twice = [1, 2, 2].map((number) => ({ number, text: ODD_TEXT, tokensEndAt: 0 }))
      expect(await failure(first.begin(twice))).to.be.instanceOf(StoreUnavailable)
      expect(await textsOf(second)).to.deep.equal([])
      const keys = [
        { number: 3, text: ODD_TEXT, createdAt: 1_700_000_000_123, tokensEndAt: 1_800_000_000_000 },
        { number: 7, text: 'seven', createdAt: 1_700_000_000_456, tokensEndAt: 0 },
      ]
      expect(await first.begin(keys)).to.equal(true)
      expect((await second.read()).keys).to.deep.equal(keys)
      expect(await second.begin([{ number: 8, text: 'x', tokensEndAt: 0 }])).to.equal(false)
      expect(await second.add(8, 'eight')).to.equal(true)
    })

    it('of several instances that begin at once, takes the keys of one', async () => {
      const instances = await Promise.all(Array.from({ length: 4 }, open))
      const keysOf = (i: number) => [1 + i, 2 + i].map((number) => ({ number, text: `by ${i}`, tokensEndAt: 0 }))
      const begun = await Promise.all(instances.map((keys, i) => keys.begin(keysOf(i))))
      expect(begun.filter(Boolean)).to.have.length(1)
      const { now, keys } = await (await open()).read()
      expect(keys.map(({ text }) => text)).to.deep.equal(Array(2).fill(`by ${begun.indexOf(true)}`))
      for (const { createdAt } of keys) expect(now - createdAt).to.be.within(0, 60_000)
    })

    it('replaces only the text that the caller has seen, and no time', async () => {
      const [first, second] = [await open(), await open()]
      await first.add(1, 'one')
      await first.noteToken(1, HOUR)
      const [before] = (await first.read()).keys
      expect(await first.replace(1, 'other', 'x')).to.equal(false)
      expect(await first.replace(2, 'one', 'x')).to.equal(false)
      const won = await Promise.all([first.replace(1, 'one', 'a'), second.replace(1, 'one', 'b')])
      expect(won.filter(Boolean)).to.have.length(1)
      const [after] = (await second.read()).keys
      expect(after).to.deep.equal({ ...before, text: won[0] ? 'a' : 'b' })
    })

    it('notes the end of the longest token', async () => {
      const [first, second] = [await open(), await open()]
      await first.add(1, 'one')
      expect(await first.noteToken(1, HOUR)).to.equal(true)
      const { now, keys } = await first.read()
      const end = Number(keys[0]?.tokensEndAt)
      expect(end - now).to.be.within(HOUR - 60_000, HOUR)
      await second.noteToken(1, HOUR / 2)
      expect((await first.read()).keys[0]?.tokensEndAt).to.equal(end)
      await Promise.all([first.noteToken(1, 3 * HOUR), second.noteToken(1, 2 * HOUR)])
      expect(Number((await first.read()).keys[0]?.tokensEndAt) - now).to.be.within(3 * HOUR, 3 * HOUR + 60_000)
      expect(await first.noteToken(2, HOUR)).to.equal(false)
    })

    it('gives a later key a later time', async () => {
      const keys = await open()
      await keys.add(1, 'one')
      await sleep(60)
      await keys.add(2, 'two')
      const [one, two] = (await keys.read()).keys
      expect(Number(two?.createdAt) - Number(one?.createdAt)).to.be.within(40, 60_000)
    })

    it('removes older keys, and keeps the one that signs', async () => {
      const [first, second] = [await open(), await open()]
      for (const number of [1, 2, 3]) await first.add(number, `${number}`)
      await second.remove(2)
      await second.remove(2)
      await second.remove(3)
      await second.remove(9)
      expect(await textsOf(first)).to.deep.equal([
        [1, '1'],
        [3, '3'],
      ])
      expect(await first.add(2, 'x')).to.equal(false)
      expect(await first.add(4, '4')).to.equal(true)
    })

    it('can be opened by several at once in a new database, and one makes the first key', async () => {
      const instances = await Promise.all(Array.from({ length: 4 }, open))
      const added = await Promise.all(instances.map((keys, i) => keys.add(1, `by ${i}`)))
      expect(added.filter(Boolean)).to.have.length(1)
    })

    it('answer with StoreUnavailable when the table is gone, and recover when it is back', async () => {
      const keys = await open()
      await keys.add(1, 'one')
      await database.sql('alter table signing_keys rename to away')
      expect(await failure(keys.read())).to.be.instanceOf(StoreUnavailable)
      await database.sql('alter table away rename to signing_keys')
      expect((await keys.read()).keys).to.have.length(1)
    })

    it('finds everything again after it was closed', async () => {
      const first = await open()
      await first.add(1, 'one')
      await first.noteToken(1, HOUR)
      const { keys } = await first.read()
      await first.close()
      expect((await (await open()).read()).keys).to.deep.equal(keys)
    })

    it('refuses everything with StoreUnavailable once closed, and closes twice without complaint', async () => {
      const keys = await open()
      await keys.close()
      await keys.close()
      const calls = [
        keys.read(),
        keys.begin([]),
        keys.add(1, 'x'),
        keys.replace(1, 'x', 'y'),
        keys.noteToken(1, 1),
        keys.remove(1),
      ]
      for (const call of calls) expect(await failure(call)).to.be.instanceOf(StoreUnavailable)
    })
  })
}
