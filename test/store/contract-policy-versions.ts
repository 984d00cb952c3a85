/** The contract of PolicyVersions as tests; every engine that keeps published policies passes them. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { LONGEST_SIGNED, type PolicyVersions } from '../../src/store/policy-versions.ts'
import { failure } from './fixture.ts'

/** A database of its own, empty at first. */
export interface TestInstances<T> {
  /** Each call opens the same database once more, as another instance does. */
  open(): Promise<T>
  /** As somebody does who may write to the database. */
  sql(text: string): Promise<void>
  /** Closes all that it opened. */
  remove(): Promise<void>
}

const NO_FILES = new Map<string, string>()
/** Texts that no engine may change: any Unicode, quotes, ends of lines. */
const ODD_TEXT = `a'b"c\\d\r\n\u{1f511}é\u0301 \t%s $1 ?`

export function policyVersionsContract(engine: string, create: () => Promise<TestInstances<PolicyVersions>>): void {
  describe(`published policies on ${engine}`, () => {
    let database: TestInstances<PolicyVersions>
    beforeEach(async () => {
      database = await create()
    })
    afterEach(() => database.remove())
    const open = () => database.open()

    it('has no version at first', async () => {
      const versions = await open()
      expect(await versions.latest()).to.equal(0)
      expect(await versions.last()).to.equal(undefined)
      expect(await versions.get(1)).to.equal(undefined)
      expect(await versions.all()).to.deep.equal([])
      expect(await versions.file('a')).to.equal(undefined)
      expect(await versions.instances()).to.deep.equal([])
    })

    it('keeps proposals by number, with their files, and one of several with one number', async () => {
      const [one, two] = [await open(), await open()]
      expect(await one.proposalsAfter(0)).to.deep.equal([])
      expect(await one.latestProposal()).to.equal(0)
      const files = new Map([['digest', ODD_TEXT]])
      const made = await Promise.all([
        one.propose({ number: 1, signed: 'one', files }),
        two.propose({ number: 1, signed: 'two', files: new Map([['other', 'text']]) }),
      ])
      expect(made.toSorted()).to.deep.equal([false, true])
      expect(await one.file(made[0] ? 'other' : 'digest'), 'nothing of the other one is stored').to.equal(undefined)
      expect(await one.propose({ number: 3, signed: 'three', files: NO_FILES }), 'no gap').to.equal(false)
      expect(await two.propose({ number: 2, signed: ODD_TEXT, files: NO_FILES })).to.equal(true)
      expect(await one.proposalsAfter(1)).to.deep.equal([{ number: 2, signed: ODD_TEXT }])
      expect((await one.proposalsAfter(0)).map(({ number }) => number)).to.deep.equal([1, 2])
      expect((await one.proposalsAfter(0, 1)).map(({ number }) => number)).to.deep.equal([1])
      expect(await one.latestProposal()).to.equal(2)
      expect(await one.latest(), 'a proposal is no version').to.equal(0)
    })

    it('keeps what was said about roles for a time by number, and one of several with one number', async () => {
      const [one, two] = [await open(), await open()]
      expect(await one.grantTextsAfter(0)).to.deep.equal([])
      expect(await one.latestGrantText()).to.equal(0)
      const made = await Promise.all([
        one.addGrantText({ number: 1, signed: ODD_TEXT }),
        two.addGrantText({ number: 1, signed: 'two' }),
      ])
      expect(made.toSorted()).to.deep.equal([false, true])
      expect(await two.addGrantText({ number: 3, signed: 'three' }), 'no gap').to.equal(false)
      expect(await two.addGrantText({ number: 2, signed: ODD_TEXT })).to.equal(true)
      expect(await one.grantTextsAfter(1)).to.deep.equal([{ number: 2, signed: ODD_TEXT }])
      expect(await one.latestGrantText()).to.equal(2)
      expect(await one.latestProposal(), 'it is no proposal').to.equal(0)
    })

    it('takes no notice of rows with numbers that it never gives, so that nothing is hidden behind them', async () => {
      const versions = await open()
      await versions.publish({ number: 1, signed: 'one', files: NO_FILES })
      await versions.propose({ number: 1, signed: 'one', files: NO_FILES })
      await versions.addGrantText({ number: 1, signed: 'one' })
      const ODD_NUMBERS = ['-1', '0', '1000000000', '9007199254740993', '9223372036854775807']
      for (const table of ['policy_versions', 'policy_proposals', 'policy_grants']) {
        for (const number of ODD_NUMBERS) {
          await database.sql(`insert into ${table} (number, signed) values (${number}, 'odd')`)
        }
      }
      const one = { number: 1, signed: 'one' }
      expect([await versions.last(), await versions.all()]).to.deep.equal([one, [one]])
      expect([await versions.proposalsAfter(-9), await versions.grantTextsAfter(-9)]).to.deep.equal([[one], [one]])
      expect([
        await versions.latest(),
        await versions.latestProposal(),
        await versions.latestGrantText(),
      ]).to.deep.equal([1, 1, 1])
      expect(await versions.addGrantText({ number: 2, signed: 'two' })).to.equal(true)
      expect((await versions.grantTextsAfter(1)).map(({ number }) => number)).to.deep.equal([2])
    })

    it('keeps what people have signed about a proposal, each text once, and not without bound', async () => {
      const versions = await open()
      await versions.propose({ number: 1, signed: 'one', files: NO_FILES })
      expect(await versions.signaturesOf(1)).to.deep.equal([])
      expect(await versions.addSignature(1, ODD_TEXT)).to.equal(true)
      expect(await versions.addSignature(1, ODD_TEXT)).to.equal(true)
      expect(await (await open()).signaturesOf(1)).to.deep.equal([ODD_TEXT])
      expect(await versions.signaturesOf(2)).to.deep.equal([])
      for (let i = 0; i < 199; i++) await versions.addSignature(1, `signature ${i}`)
      expect(await versions.signaturesOf(1)).to.have.length(200)
      expect(await versions.addSignature(1, 'one too many')).to.equal(false)
      expect(await versions.signaturesOf(1)).to.have.length(200)
    })

    it('knows the time of the database', async () => {
      const now = await (await open()).now()
      expect(now).to.be.within(Date.now() - 60_000, Date.now() + 60_000)
    })

    it('has one id, which everybody finds who opens it, also at the same time', async () => {
      const homes = await Promise.all(Array.from({ length: 4 }, async () => (await open()).home()))
      expect(new Set(homes.map(({ id }) => id))).to.have.length(1)
      expect(homes[0]?.id).to.match(/^[0-9a-f-]{36}$/)
      expect(homes[0]?.former).to.deep.equal([])
      const other = await create()
      expect((await (await other.open()).home()).id).not.to.equal(homes[0]?.id)
      await other.remove()
    })

    it('knows the versions that were there before its id', async () => {
      const before = await open()
      for (const [at, signed] of [ODD_TEXT, 'two'].entries()) {
        await before.publish({ number: at + 1, signed, files: NO_FILES })
      }
      await database.sql('delete from policy_database')
      expect(await failure(before.home())).to.be.instanceOf(StoreUnavailable)
      const after = await open()
      await after.publish({ number: 3, signed: 'three', files: NO_FILES })
      const former = [ODD_TEXT, 'two'].map((text) => createHash('sha256').update(text).digest('hex'))
      expect((await after.home()).former.toSorted()).to.deep.equal(former.toSorted())
      expect(await (await open()).home()).to.deep.equal(await after.home())
    })

    it('keeps what was published, and shows it to every instance at once', async () => {
      const [first, second] = [await open(), await open()]
      const files = new Map([
        ['a', ODD_TEXT],
        ['b', ''],
      ])
      expect(await first.publish({ number: 1, signed: ODD_TEXT, files })).to.equal(true)
      expect(await first.publish({ number: 2, signed: 'two', files: NO_FILES })).to.equal(true)
      expect(await second.latest()).to.equal(2)
      expect({ ...(await second.last()) }).to.deep.equal({ number: 2, signed: 'two' })
      expect(await second.get(1)).to.equal(ODD_TEXT)
      expect(await second.file('a')).to.equal(ODD_TEXT)
      expect(await second.file('b')).to.equal('')
      expect(await second.all()).to.deep.equal([
        { number: 1, signed: ODD_TEXT },
        { number: 2, signed: 'two' },
      ])
    })

    it('shows the beginning of a last version that is too long, so that nobody waits for the rest', async () => {
      const versions = await open()
      const [longest, longer] = [0, 1].map((more) => 'é'.repeat(LONGEST_SIGNED + more)) as [string, string]
      await versions.publish({ number: 1, signed: longest, files: NO_FILES })
      expect((await versions.last())?.signed === longest).to.equal(true)
      await versions.publish({ number: 2, signed: longer, files: NO_FILES })
      expect((await versions.last())?.signed.length).to.equal(LONGEST_SIGNED)
      expect((await versions.get(2))?.length, 'whoever reads it later reads the same').to.equal(LONGEST_SIGNED)
      expect((await versions.all()).at(-1)?.signed.length).to.equal(LONGEST_SIGNED)
    })

    it('keeps large files whole', async () => {
      const versions = await open()
      const large = 'p, role:member, /api/orders/{id}, GET, allow\n'.repeat(50_000)
      await versions.publish({ number: 1, signed: 'one', files: new Map([['a', large]]) })
      expect((await versions.file('a')) === large).to.equal(true)
    })

    it('takes only the next number, and stores nothing of a version that it refuses', async () => {
      const versions = await open()
      const files = new Map([['a', 'text']])
      for (const number of [0, 2, 3, -1]) {
        expect(await versions.publish({ number, signed: 'x', files })).to.equal(false)
      }
      expect(await versions.latest()).to.equal(0)
      expect(await versions.file('a')).to.equal(undefined)
      expect(await versions.publish({ number: 1, signed: 'one', files: NO_FILES })).to.equal(true)
      expect(await versions.publish({ number: 1, signed: 'other', files })).to.equal(false)
      expect(await versions.get(1)).to.equal('one')
      expect(await versions.file('a')).to.equal(undefined)
    })

    it('lets one of several publishers win, and tells the others', async () => {
      const publishers = await Promise.all(Array.from({ length: 4 }, open))
      for (let number = 1; number <= 5; number++) {
        const attempts = publishers.map(async (versions, i) => {
          return versions.publish({ number, signed: `by ${i}`, files: new Map([[`${number}-${i}`, 'text']]) })
        })
        const won = (await Promise.all(attempts)).flatMap((done, i) => (done ? [i] : []))
        expect(won).to.have.length(1)
        expect(await publishers[0]?.get(number)).to.equal(`by ${won[0]}`)
        const stored = await Promise.all(publishers.map((_, i) => publishers[0]?.file(`${number}-${i}`)))
        expect(stored.flatMap((text, i) => (text === undefined ? [] : [i]))).to.deep.equal(won)
      }
    })

    it('keeps one file for the versions that share it', async () => {
      const versions = await open()
      const files = new Map([['a', 'text']])
      await versions.publish({ number: 1, signed: 'one', files })
      expect(await versions.publish({ number: 2, signed: 'two', files })).to.equal(true)
      expect(await versions.file('a')).to.equal('text')
    })

    it('lists what instances told last, with its age by the clock of the database', async () => {
      const [first, second] = [await open(), await open()]
      await first.note('b', ODD_TEXT)
      await second.note('a', 'old')
      await second.note('a', 'new')
      const told = await first.instances()
      expect(told.map(({ name, state }) => [name, state])).to.deep.equal([
        ['a', 'new'],
        ['b', ODD_TEXT],
      ])
      for (const { ageMs } of told) expect(ageMs).to.be.within(0, 60_000)
      await second.forget('b')
      await second.forget('unknown')
      expect((await first.instances()).map(({ name }) => name)).to.deep.equal(['a'])
    })

    it('tells older notes by a greater age', async () => {
      const versions = await open()
      await versions.note('a', 'x')
      await new Promise((resolve) => setTimeout(resolve, 60))
      await versions.note('b', 'x')
      const [a, b] = await versions.instances()
      expect((a?.ageMs ?? 0) - (b?.ageMs ?? 0)).to.be.within(40, 60_000)
    })

    it('forgets instances that told nothing for a day', async () => {
      const versions = await open()
      await versions.note('gone', 'x')
      await database.sql(`update policy_instances set at = at - ${24 * 60 * 60 * 1000} - 1000`)
      await versions.note('here', 'x')
      expect((await versions.instances()).map(({ name }) => name)).to.deep.equal(['here'])
    })

    it('repairs a stored file that somebody changed when it is published again', async () => {
      const versions = await open()
      const files = new Map([['a', ODD_TEXT]])
      await versions.publish({ number: 1, signed: 'one', files })
      await database.sql("update policy_files set content = 'other'")
      expect(await versions.file('a')).to.equal('other')
      await versions.publish({ number: 2, signed: 'two', files })
      expect(await versions.file('a')).to.equal(ODD_TEXT)
    })

    it('answers with StoreUnavailable when a table is gone, and recovers when it is back', async () => {
      const versions = await open()
      await versions.publish({ number: 1, signed: 'one', files: NO_FILES })
      await database.sql('alter table policy_versions rename to away')
      expect(await failure(versions.latest())).to.be.instanceOf(StoreUnavailable)
      await database.sql('alter table away rename to policy_versions')
      expect(await versions.latest()).to.equal(1)
    })

    it('finds everything again after it was closed', async () => {
      const first = await open()
      await first.publish({ number: 1, signed: 'one', files: new Map([['a', 'text']]) })
      await first.note('a', 'x')
      await first.close()
      const second = await open()
      expect(await second.get(1)).to.equal('one')
      expect(await second.file('a')).to.equal('text')
      expect(await second.instances()).to.have.length(1)
    })

    it('refuses everything with StoreUnavailable once closed, and closes twice without complaint', async () => {
      const versions = await open()
      await versions.close()
      await versions.close()
      const calls = [
        versions.home(),
        versions.latest(),
        versions.latestProposal(),
        versions.latestGrantText(),
        versions.grantTextsAfter(0),
        versions.addGrantText({ number: 1, signed: 'one' }),
        versions.last(),
        versions.get(1),
        versions.all(),
        versions.file('a'),
        versions.publish({ number: 1, signed: 'one', files: NO_FILES }),
        versions.note('a', 'x'),
        versions.forget('a'),
        versions.instances(),
      ]
      for (const call of calls) expect(await failure(call)).to.be.instanceOf(StoreUnavailable)
    })
  })
}
