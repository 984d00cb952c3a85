/** The policy is published in PostgreSQL: instances follow it, block at once, and refuse when they lost it for too long. */
import { expect } from 'chai'
import { createSchema, type TestSchema } from '../store/postgres-schemas.ts'
import { until } from '../until.ts'
import { PublishedPolicies, sequenceOf } from './fixture.ts'

describe('instances with one policy in PostgreSQL', () => {
  let schema: TestSchema
  let published: PublishedPolicies

  before(async () => {
    schema = await createSchema()
    published = await PublishedPolicies.make(schema.url)
    await published.publish()
  })
  after(async () => {
    await published.remove()
    await schema.remove()
  })

  it('follow versions and blocks, keep the last good one, and say 503 when they can not read it for too long', async () => {
    const env = { DATABASE_POOL: '4', POLICY_MAX_AGE: '2s' }
    const [one, two] = [await published.start(env), await published.start(env)]
    const both = async (number: number) => (await sequenceOf(one)) === number && (await sequenceOf(two)) === number
    await published.publish('# second\n')
    await until(() => both(2))
    await published.publish('x, nothing\n')
    await until(() => one.app.policy.faults.length > 0 && two.app.policy.faults.length > 0)
    await published.block('mallory')
    await until(() => [one, two].every(({ app }) => app.policy.active.blocked.has('mallory')))
    expect(await both(2)).to.equal(true)
    await published.publish('# good\n')
    await until(() => both(5))

    const direct = await schema.raw()
    await direct.query('alter table policy_versions rename to away')
    const status = async () => (await one.ask('GET', '/api/v1/notes')).status
    expect(await status()).to.equal(401)
    await until(async () => (await status()) === 503)
    expect((await one.ask('GET', '/api/v1/notes')).body.code).to.equal('policy-expired')
    await direct.query('alter table away rename to policy_versions')
    await until(async () => (await status()) === 401)

    await direct.query('update policy_versions set signed = (select signed from policy_versions where number = 4)')
    await direct.query('insert into policy_versions select 6, signed from policy_versions where number = 1')
    await until(() => one.app.policy.faults.length > 0)
    expect(String(one.app.policy.faults[0])).to.contain('stored under another number')
    expect(await both(5)).to.equal(true)
  })
})
