/** An instance on PostgreSQL whose clock is far ahead deletes nothing that the other instances still need. */
import { expect } from 'chai'
import { creation, RESOURCES } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const YEAR_MS = 365 * 24 * 3_600_000
const now = () => new Date()
const ahead = () => new Date(Date.now() + YEAR_MS)
const REPLAY = { subject: 'ann', route: '/things', key: 'k', fingerprint: 'f' }

describe('an instance whose clock is a year ahead', () => {
  let schema: TestSchema

  beforeEach(async () => {
    schema = await createSchema()
  })
  afterEach(() => schema.remove())

  async function leftAfter(start: () => Date): Promise<Record<string, number>> {
    const { store, attempts } = await schema.open({ resources: RESOURCES, now })
    await store.create(creation('a', {}), { replay: REPLAY })
    const hour = Date.now() + 3_600_000
    const counter = { failures: 3, at: Date.now(), expiresAt: hour }
    await attempts.count(['victim'], () => ({ verdict: undefined, changes: new Map([['victim', counter]]) }))
    const raw = await schema.raw()
    await raw.query(`insert into sessions values ('s', 'ann', 0, ${hour}, ${hour}, 'f', 'c')`)
    const other = await schema.open({ resources: RESOURCES, now: start })
    const own = { ...counter, expiresAt: start().getTime() + 1000 }
    await other.attempts.count(['own'], () => ({ verdict: undefined, changes: new Map([['own', own]]) }))
    const text = `select (select count(*) from replays)::int as keys, (select count(*) from sessions)::int as sessions,
      (select count(*) from attempts where key = 'victim')::int as counters`
    return (await raw.query<Record<string, number>>(text)).rows[0] ?? {}
  }

  it('deletes no idempotency key, no session and no counter of others', async () => {
    expect(await leftAfter(ahead)).to.deep.equal({ keys: 1, sessions: 1, counters: 1 })
  })

  it('deletes what is over by the clock of the database too', async () => {
    const before = await leftAfter(now)
    expect(before).to.deep.equal({ keys: 1, sessions: 1, counters: 1 })
    const raw = await schema.raw()
    await raw.query(`update replays set at = at - ${YEAR_MS}; update sessions set ends_at = ends_at - ${YEAR_MS}`)
    await schema.open({ resources: RESOURCES, now })
    const { rows } = await raw.query('select (select count(*) from replays) + (select count(*) from sessions) as left')
    expect(Number(rows[0]?.left)).to.equal(0)
  })
})
