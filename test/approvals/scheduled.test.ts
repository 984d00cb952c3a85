/** Proposals with a time: instances publish them then by themselves, if they still fit, and say so if not. */
import { join } from 'node:path'
import { expect } from 'chai'
import { sequenceOf } from '../published/fixture.ts'
import type { TestServer } from '../server.ts'
import { createSchema, type TestSchema } from '../store/postgres-schemas.ts'
import { until } from '../until.ts'
import { ApprovedPolicies } from './people.ts'

const WIDER = 'p, anonymous, notes, list, any, *, allow\n'
const uncheckedBecause = 'the published policy grants more than the folder of the checker'
const HOUR = 60 * 60 * 1000
/** A proposal for the past is refused, on a busy machine too. */
const SOON_MS = 2000

describe('a proposal that was approved for a time', function () {
  this.timeout(300_000)
  let approved: ApprovedPolicies
  let count = 0

  const schedule = async (afterMs = SOON_MS, lines = WIDER, ...args: readonly string[]) => {
    const folder = await approved.folderWith(`next-${++count}`, lines)
    const from = inMs(afterMs)
    const about = ['--title', 't', '--not-before', from.toISOString(), ...args]
    const { stdout, stderr } = await approved.as('ada', 'propose', folder, ...about)
    expect(stderr).to.equal('')
    return { proposal: String(/Proposal (\d+) /.exec(stdout)?.[1]), from }
  }
  const approve = async (proposal: string) => {
    for (const name of ['zoe', 'tim'] as const) await approved.as(name, 'approve', proposal)
  }
  const inMs = (ms: number) => new Date(Date.now() + ms)
  const seenBy = async (servers: readonly TestServer[], number: number) => {
    const numbers = await Promise.all(servers.map(sequenceOf))
    return numbers.every((one) => one === number)
  }

  describe('on PostgreSQL, with three instances whose clocks are an hour apart', () => {
    let schema: TestSchema
    before(async () => {
      schema = await createSchema()
      approved = await ApprovedPolicies.make(schema.url)
    })
    after(async () => {
      await approved.remove()
      await schema.remove()
    })

    it('is in force everywhere when its time has come by the clock of the database, and not before', async () => {
      const servers = await Promise.all(
        [-HOUR, 0, HOUR].map((offset) =>
          approved.published.start({ DATABASE_POOL: '4' }, { uncheckedBecause, now: () => inMs(offset) }),
        ),
      )
      const waiting = await schedule(HOUR)
      await approve(waiting.proposal)
      const early = await approved.run('publish', waiting.proposal)
      expect(early.stderr).to.contain(`may not be in force before ${waiting.from.toISOString()}`)
      const { proposal, from } = await schedule(3000)
      expect(await seenBy(servers, 1)).to.equal(true)
      await approve(proposal)
      await until(() => seenBy(servers, 2))
      expect(Date.now()).to.be.at.least(from.getTime())
      const { versions } = JSON.parse((await approved.run('history', '--format', 'json')).stdout)
      expect(Date.parse(versions[0].time)).to.be.at.least(from.getTime())
      for (const server of servers) expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(200)
      const published = servers.flatMap(({ log }) => log.filter(({ version }) => version === 2))
      expect(published, 'one instance has stored it').to.have.length(1)
    })
  })

  describe('on SQLite', () => {
    let server: TestServer
    beforeEach(async () => {
      approved = await ApprovedPolicies.make()
    })
    afterEach(() => approved.remove())

    // It is started when the proposals are as the test wants them: their time may come while commands make them.
    const start = async () => {
      server = await approved.published.start({}, { uncheckedBecause })
    }
    const overdue = () => server.log.filter(({ msg }) => String(msg).includes('which was to be in force at'))
    const metric = async () => /^sallyport_policy_proposals_overdue (\d+)$/m.exec(await server.app.metrics.text())?.[1]

    it('stays out while an approval is missing, says so, and is in force once it is there', async () => {
      const { proposal } = await schedule()
      await approved.as('zoe', 'approve', proposal)
      await start()
      await until(() => overdue().length > 0)
      expect(overdue()[0]?.msg).to.contain(`proposal ${proposal}, which was to be in force at `)
      expect(overdue()[0]?.msg).to.contain('is not: it lacks 1 approval: it needs 2 people of `security`')
      expect(await metric()).to.equal('1')
      const status = async () => (await approved.run('status')).stdout
      await until(async () => (await status()).includes('lacks 1 approval'))
      expect(await seenBy([server], 1)).to.equal(true)
      await approved.as('tim', 'approve', proposal)
      await until(() => seenBy([server], 2))
      expect(await metric()).to.equal('0')
      expect(overdue()).to.have.length(1)
    })

    it('stays out, and says so, if another version is in force by then', async () => {
      const { proposal } = await schedule()
      await approve(proposal)
      const other = await approved.folderWith('other', '# reviewed\n')
      await approved.as('tim', 'propose', other, '--title', 'a comment')
      await approved.as('kim', 'approve', String(Number(proposal) + 1))
      await approved.run('publish', String(Number(proposal) + 1))
      await start()
      await until(() => seenBy([server], 2))
      await until(() => overdue().length > 0)
      expect(overdue()[0]?.msg).to.contain('is not: version 2 is in force, and it changes version 1')
      expect(await metric()).to.equal('1')
      expect(await seenBy([server], 2)).to.equal(true)
    })

    it('stays out in silence if it was withdrawn', async () => {
      const { proposal: withdrawn } = await schedule()
      await approve(withdrawn)
      await approved.as('ada', 'withdraw', withdrawn)
      const { proposal: later } = await schedule(SOON_MS, '# a comment\n')
      await approve(later)
      await start()
      await until(() => seenBy([server], 2))
      const { proposals } = JSON.parse((await approved.run('proposals', '--format', 'json')).stdout)
      expect(proposals.map(({ proposal, state }: Record<string, unknown>) => [String(proposal), state])).to.deep.equal([
        [later, 'published'],
        [withdrawn, 'withdrawn'],
      ])
      expect(overdue()).to.deep.equal([])
    })

    it('stays out, and says so, if it ends without its approvals, also after a restart', async () => {
      await start()
      const { proposal } = await schedule(SOON_MS, WIDER, '--expires', '1s')
      await until(() => overdue().some(({ msg }) => String(msg).includes('it expired at')))
      expect(join(String(overdue().at(-1)?.proposal))).to.equal(proposal)
      expect(await seenBy([server], 1)).to.equal(true)
      const again = await approved.published.start({}, { uncheckedBecause })
      await until(() => again.log.some(({ msg }) => String(msg).includes('it expired at')))
    })
  })
})
