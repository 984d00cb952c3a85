/** Passwords can't be tried out: who was wrong too often waits, and nobody is kept out for long by somebody else. */
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createGuessing, type Guessing } from '../../src/identity/sign-in/guessing.ts'
import { createPasswords } from '../../src/identity/sign-in/password.ts'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import type { Store } from '../../src/store/contract.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const CONNECTIONS = soak(60, 40)
/** Much less than that of a server, and more than what else a request takes. */
const COST = { ln: 12, r: 8, p: 3 }
const VICTIM = 'alice@example.com'

describe('guessing', () => {
  let folder: string
  let now: number
  let open: Store[]
  let guessing: Guessing
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    now = Date.parse('2026-11-21T12:00:00Z')
    open = []
    guessing = await instance()
  })
  afterEach(async () => {
    for (const store of open) await store.close()
    await removeFolder(folder)
  })

  async function instance(): Promise<Guessing> {
    const file = join(folder, 'sallyport.db')
    const resources = parseResources([])
    const { store, attempts } = await openSqlite({ file, resources, now: () => new Date(now) })
    open.push(store)
    return createGuessing(attempts, await store.secret('guessing'), () => now)
  }

  /** Milliseconds to wait; 0 for a try that was let in, and failed. */
  async function fail(email: string, address: string, by = guessing): Promise<number> {
    const admission = await by.begin({ email, address })
    return admission.kind === 'delayed' ? admission.retryAfterMs : 0
  }

  async function succeed(email: string, address: string): Promise<void> {
    const admission = await guessing.begin({ email, address })
    if (admission.kind === 'delayed') throw new Error(`delayed by ${admission.retryAfterMs} ms`)
    await admission.attempt.succeeded()
  }

  /** Waits of the tries that follow each other as closely as they may, each from another address. */
  async function waits(tries: number, emailOf: (i: number) => string, addressOf: (i: number) => string) {
    const all: number[] = []
    for (let i = 0; i < tries; i++) {
      const wait = await fail(emailOf(i), addressOf(i))
      if (wait > 0) {
        now += wait
        expect(await fail(emailOf(i), addressOf(i)), 'after the wait').to.equal(0)
      }
      all.push(wait / 1000)
    }
    return all
  }

  it('at one user, from anywhere, waits 1, 2, 4 … seconds after five failures, and never more than 30', async () => {
    const all = await waits(
      13,
      () => VICTIM,
      (i) => `10.0.0.${i}`,
    )
    expect(all).to.deep.equal([0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 30, 30, 30])
  })

  it('from one address, at anybody, waits after twenty failures, up to a quarter of an hour', async () => {
    const all = await waits(
      33,
      (i) => `user${i}@example.com`,
      () => '10.0.0.1',
    )
    expect(all.slice(0, 20).every((wait) => wait === 0)).to.equal(true)
    expect(all.slice(20)).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900])
    expect(await fail('user99@example.com', '10.0.0.2')).to.equal(0)
  })

  it('many at once is no more than one by one', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => fail(VICTIM, `10.0.0.${i}`)))
    expect(all.filter((wait) => wait === 0)).to.have.length(5)
  })

  it('is not forgiven by the success of a user whose address differs in case alone', async () => {
    for (let i = 0; i < 4; i++) await fail(VICTIM, `10.0.0.${i}`)
    await succeed('Alice@example.com', '10.0.0.9')
    expect(await fail(VICTIM, '10.0.0.9')).to.equal(0)
    expect(await fail(VICTIM, '10.0.0.9')).to.equal(1000)
  })

  it('is counted by all instances on one database, and over a restart', async () => {
    const other = await instance()
    for (let i = 0; i < 5; i++) await fail(VICTIM, `10.0.0.${i}`, i % 2 ? guessing : other)
    expect(await fail(VICTIM, '10.0.0.8', guessing)).to.equal(1000)
    expect(await fail(VICTIM, '10.0.0.9', other)).to.equal(1000)
    for (const store of open.splice(0)) await store.close()
    expect(await fail(VICTIM, '10.0.0.9', await instance())).to.equal(1000)
  })

  it('does not keep the user out of where they have signed in before', async () => {
    await succeed(VICTIM, 'home')
    for (let i = 0; i < 40; i++) await fail(VICTIM, `10.0.0.${i}`)
    expect(await fail(VICTIM, 'work')).to.be.greaterThan(0)
    await succeed(VICTIM, 'home')
    // Nor does the user's own success let the others guess on.
    expect(await fail(VICTIM, 'work')).to.be.greaterThan(0)
    for (let i = 0; i < 5; i++) expect(await fail(VICTIM, 'home')).to.equal(0)
    expect(await fail(VICTIM, 'home'), 'the address is known, and slowed down all the same').to.equal(1000)
  })

  it('of others at an address does not hold up a user who has signed in from it', async () => {
    await succeed(VICTIM, 'office')
    for (let i = 0; i < 40; i++) await fail(`other${i}@example.com`, 'office')
    expect(await fail('newcomer@example.com', 'office')).to.be.greaterThan(0)
    await succeed(VICTIM, 'office')
    expect(await fail('newcomer@example.com', 'office')).to.be.greaterThan(0)
    // The user's own failures there do.
    for (let i = 0; i < 5; i++) expect(await fail(VICTIM, 'office')).to.equal(0)
    expect(await fail(VICTIM, 'office')).to.equal(1000)
  })

  it('where the user has signed in before is forgotten after a day, and does not prolong how long that is known', async () => {
    await succeed(VICTIM, 'home')
    for (let i = 0; i < 5; i++) await fail(VICTIM, 'home')
    expect(await fail(VICTIM, 'home')).to.equal(1000)
    now += DAY + MINUTE
    for (let i = 0; i < 5; i++) expect(await fail(VICTIM, 'home')).to.equal(0)
    expect(await fail(VICTIM, 'home')).to.equal(1000)
    now += 28 * DAY
    await fail(VICTIM, 'home')
    for (let i = 0; i < 40; i++) await fail(VICTIM, `10.0.0.${i}`)
    expect(await fail(VICTIM, 'home')).to.equal(0)
    now += DAY
    // 30 days have passed since the sign-in: the address is one of many again.
    for (let i = 0; i < 40; i++) await fail(VICTIM, `10.0.0.${i}`)
    expect(await fail(VICTIM, 'home')).to.be.greaterThan(0)
  })

  it("is forgotten when the user signs in, but for the address: one's own account resets nothing", async () => {
    for (let i = 0; i < 4; i++) await fail(VICTIM, 'office')
    await succeed(VICTIM, 'office')
    for (let i = 0; i < 5; i++) expect(await fail(VICTIM, 'office')).to.equal(0)
    expect(await fail(VICTIM, 'office')).to.equal(1000)
    for (let i = 0; i < 11; i++) {
      await succeed('mallory@example.com', 'office')
      expect(await fail(`other${i}@example.com`, 'office')).to.equal(0)
    }
    expect(await fail('other99@example.com', 'office')).to.equal(1000)
  })

  it('that compared nothing does not count', async () => {
    for (let i = 0; i < 30; i++) {
      const admission = await guessing.begin({ email: VICTIM, address: 'a' })
      if (admission.kind === 'delayed') throw new Error('delayed')
      await admission.attempt.withdrawn()
    }
    expect(await fail(VICTIM, 'a')).to.equal(0)
  })

  it('is forgotten after a day, and swept', async () => {
    for (let i = 0; i < 40; i++) await fail(`user${i}@example.com`, `10.0.1.${i}`)
    for (let i = 0; i < 12; i++) await fail(VICTIM, `10.0.0.${i}`)
    now += DAY + MINUTE
    expect(await fail(VICTIM, '10.0.0.1')).to.equal(0)
    for (let i = 0; i < 10; i++) await fail(`later${i}@example.com`, `10.0.2.${i}`)
    const { DatabaseSync } = await import('node:sqlite')
    const file = new DatabaseSync(join(folder, 'sallyport.db'), { readOnly: true })
    expect(file.prepare('select count(*) as n from attempts').get()?.n).to.equal(22)
    file.close()
  })

  it('waits no longer because the clock was set back', async () => {
    for (let i = 0; i < 20; i++) await fail(VICTIM, `10.0.0.${i}`)
    now -= DAY
    const wait = await fail(VICTIM, '10.0.0.99')
    expect(wait).to.be.within(1, 30_000)
    now += wait - 1
    expect(await fail(VICTIM, '10.0.0.99')).to.equal(1)
    now += 1
    await succeed(VICTIM, '10.0.0.99')
  })

  it('leaves neither address in what is stored', async () => {
    await fail('typed-password-by-mistake', '203.0.113.77')
    await succeed(VICTIM, '203.0.113.77')
    for (const store of open.splice(0)) await store.close()
    const file = (await readFile(join(folder, 'sallyport.db'))).toString('latin1')
    for (const word of ['typed-password', 'alice', '203.0.113']) expect(file.includes(word), word).to.equal(false)
    expect(file.includes('attempts'), 'the check reads the right file').to.equal(true)
  })
})

describe('guessing over HTTP', () => {
  let server: TestServer
  /** It stands still between the requests, however busy the machine is. */
  const start = Date.now()
  let clock = 0
  let compared = 0
  before(async () => {
    const passwords = createPasswords(COST)
    server = await startTestServer({
      demo: true,
      passwords: {
        ...passwords,
        verify: (...all) => {
          compared += 1
          return passwords.verify(...all)
        },
      },
      now: () => new Date(start + clock),
      env: { TRUST_PROXY: '127.0.0.1' },
    })
    const hash = await passwords.hash(DEMO_PASSWORD)
    for (const id of ['alice', 'bob']) await server.app.directory.setPassword(id, { hash, oneTime: false })
  })
  after(() => server.stop())

  const signIn = (email: string, password: string, address: string) =>
    server.ask('POST', '/api/tokens', { body: { email, password }, headers: { 'x-forwarded-for': address } })

  for (const [who, email] of [
    ['a user', 'bob@example.com'],
    ['nobody', 'nobody@example.com'],
  ] as const) {
    it(`at ${who} gets 429 before anything is compared, also for the right password`, async () => {
      for (let i = 0; i < 5; i++) expect((await signIn(email, 'wrong', `2001:db8:0:${i}::1`)).status).to.equal(401)
      const before = compared
      const delayed = await Promise.all(Array.from({ length: 20 }, () => signIn(email, DEMO_PASSWORD, '2001:db8:9::1')))
      expect(compared).to.equal(before)
      for (const { status, body, headers } of delayed) {
        expect([status, body.code, headers.get('retry-after')]).to.deep.equal([429, 'sign-in-delayed', '1'])
      }
      const record = await server.lastDecision({ problem: 'sign-in-delayed' })
      expect(record).to.deep.include({ outcome: 'refused', problem: 'sign-in-delayed', status: 429 })
      expect([record?.objectId, record?.reason]).to.deep.equal([
        who === 'a user' ? 'bob' : undefined,
        'too many failures',
      ])
      clock += 1000
      expect((await signIn(email, DEMO_PASSWORD, '2001:db8:9::1')).status).to.equal(who === 'a user' ? 200 : 401)
      expect(compared, 'what is compared is counted').to.equal(before + 1)
    })
  }

  it(`on ${CONNECTIONS} connections sends away strangers, and nobody at an address from which they have signed in`, async () => {
    const home = '198.51.100.8'
    expect((await signIn('alice@example.com', DEMO_PASSWORD, home)).status).to.equal(200)
    let guessing = true
    const statuses = new Map<number, number>()
    const guess = async (_: unknown, connection: number) => {
      for (let i = 0; guessing; i++) {
        const { status } = await signIn(`x${connection}-${i}@example.com`, 'x', `203.0.${connection}.${i % 250}`)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    const guesses = Array.from({ length: CONNECTIONS }, guess)
    for (let i = 0; i < soak(4, 1); i++)
      expect((await signIn('alice@example.com', DEMO_PASSWORD, home)).status).to.equal(200)
    guessing = false
    await Promise.all(guesses)
    expect(statuses.get(503), 'the guesses fill their line').to.be.greaterThan(0)
  })
})
