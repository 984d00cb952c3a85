/** Commands that create objects beside their own: one write, each object decided as its own POST. */
import { join } from 'node:path'
import { expect } from 'chai'
import { decideAgain } from '../../src/analysis/replay/decide-again.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { openCandidate } from '../../src/tools/replay/replay.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import type { Answer, TestServer } from '../server.ts'
import { COMMANDING } from './commanding-world.ts'

for (const [engine, startOn] of ENGINES) {
  describe(`commands that create objects, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    const tokens: Record<string, string> = {}

    before(async () => {
      const rules = 'p, everyone, system/batch, send, any, *, allow\n# end of policy'
      const policy = (COMMANDING['policies/policy.csv'] ?? '').replace('# end of policy', rules)
      on = await startOn({ files: { ...COMMANDING, 'policies/policy.csv': policy } })
      server = on.server
      for (const [name, role] of [
        ['alice', 'member'],
        ['bob', 'member'],
        ['ada', 'admin'],
        ['sue', 'support'],
        ['otto', 'auditor'],
        ['shop', 'pdp-client'],
      ] as const)
        tokens[name] = await server.token(name, role)
    })
    after(() => on.stop())

    const ask = (who: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      server.ask(method, path, { token: tokens[who], headers, ...(body === undefined ? {} : { body }) })
    const make = async (who: string, fields: Record<string, unknown> = {}) =>
      (await ask('ada', 'POST', '/jobs', { ownerId: who, ...fields })).body.id as string
    const eventsOf = async (jobId: string): Promise<readonly Record<string, unknown>[]> =>
      (await ask('ada', 'GET', `/events?jobId=${jobId}&sort=id`)).body.items
    const stateOf = async (id: string) => (await ask('ada', 'GET', `/jobs/${id}`)).body.state

    it('write all with their object, at one time, and their record tells it', async () => {
      const id = await make('alice', { note: 'before' })
      const { status, body } = await ask('alice', 'POST', `/jobs/${id}/hand-over`, { number: 'n1' })
      expect([status, body.state], JSON.stringify(body)).to.deep.equal([200, 'held'])
      const events = await eventsOf(id)
      expect(events.map(({ what, was, number, noterId }) => [what, was, number, noterId])).to.deep.equal([
        ['handed', 'before', 'n1', 'alice'],
        ['over', undefined, undefined, 'alice'],
      ])
      expect(new Set(events.map(({ createdAt }) => createdAt))).to.deep.equal(new Set([body.updatedAt]))
      const { along } = (await server.lastDecision({ action: 'hand-over', objectId: id })) ?? {}
      const created = events.map((one) => ({ resource: 'events', objectId: one.id }))
      expect(along).to.deep.equal({ changed: [], deleted: [], created })
    })

    it('need the right to create each, or write nothing: questions know it too', async () => {
      const body = { email: 'carl@example.com', displayName: 'Carl', roles: ['member'] }
      const carl = (await ask('ada', 'POST', '/api/users', body)).body.id as string
      tokens.carl = await server.token(carl, 'member')
      const id = await make(carl)
      const decided = async (name: string) => {
        const about = { subject: { type: 'user', id: carl }, action: { name }, resource: { type: 'jobs', id } }
        return (await ask('shop', 'POST', '/access/v1/evaluation', about)).body.decision
      }
      // The event would be somebody else's.
      expect(await decided('sign')).to.equal(false)
      const refused = await ask('carl', 'POST', `/jobs/${id}/sign`)
      expect([refused.status, refused.body.code]).to.deep.equal([403, 'forbidden'])
      expect([await stateOf(id), await eventsOf(id)]).to.deep.equal(['open', []])
      expect(await decided('hand-over')).to.equal(true)
      expect((await ask('carl', 'POST', `/jobs/${id}/hand-over`, {})).status).to.equal(200)
      expect((await ask('ada', 'POST', `/jobs/${id}/sign`)).status).to.equal(200)
    })

    it('with `grants: steps` need no right to create, and write the object although its own fields stay', async () => {
      const id = await make('bob', { state: 'held', note: 'noted' })
      expect((await ask('otto', 'POST', '/events', { jobId: id, what: 'seen' })).status).to.equal(403)
      expect((await ask('otto', 'POST', `/jobs/${id}/log`, { what: 'seen', jobId: id })).status).to.equal(200)
      expect(await eventsOf(id)).to.have.length(1)
      const [event] = await eventsOf(id)
      expect(event).to.include({ what: 'seen', was: 'noted', noterId: 'otto' })
    })

    it('copy only what their caller may read, whatever it holds', async () => {
      const ids = [await make('bob'), await make('bob', { secret: 'kept' })]
      for (const id of ids) {
        const { status, body } = await ask('sue', 'POST', `/jobs/${id}/leak`)
        expect([status, body.code]).to.deep.equal([403, 'field-forbidden'])
        expect(await eventsOf(id)).to.deep.equal([])
      }
      expect((await ask('ada', 'POST', `/jobs/${ids[1]}/leak`)).status).to.equal(200)
      expect((await eventsOf(ids[1] ?? ''))[0]).to.include({ was: 'kept' })
    })

    it('write nothing where one can not be: a fault of its schema, a reference, a value that is taken', async () => {
      const id = await make('alice')
      const told = ({ status, body }: Answer) => [status, body.code, body.errors?.[0]?.pointer]
      const log = (body: unknown) => ask('ada', 'POST', `/jobs/${id}/log`, body)
      expect(told(await log({ what: 'no', jobId: id }))).to.deep.equal([400, 'invalid-body', '/create/0/what'])
      expect(told(await log({ what: 'seen', jobId: 'x' }))).to.deep.equal([409, 'reference-missing', '/create/0/jobId'])
      const other = await make('bob')
      expect((await ask('bob', 'POST', `/jobs/${other}/hand-over`, { number: 'taken' })).status).to.equal(200)
      const taken = await ask('alice', 'POST', `/jobs/${id}/hand-over`, { number: 'taken' })
      expect(told(taken)).to.deep.equal([409, 'unique-taken', '/number'])
      expect([await stateOf(id), await eventsOf(id)]).to.deep.equal(['open', []])
    })

    it('create once for an idempotency key, and not at all in a batch that fails', async () => {
      const id = await make('alice')
      const headers = { 'idempotency-key': `over-${id}` }
      const answers = [1, 2].map(() => ask('alice', 'POST', `/jobs/${id}/hand-over`, {}, headers))
      await Promise.all(answers)
      expect(
        (await ask('alice', 'POST', `/jobs/${id}/hand-over`, {}, headers)).headers.get('idempotency-replayed'),
      ).to.equal('true')
      expect(await eventsOf(id)).to.have.length(2)
      const second = await make('alice')
      const run = { id: 'run', method: 'POST', path: `/jobs/${second}/hand-over`, body: {} }
      const sent = (...requests: unknown[]) => ask('alice', 'POST', '/batch', { atomic: true, requests })
      const failed = await sent(run, { id: 'no', method: 'GET', path: '/jobs/nowhere' })
      expect(failed.status, JSON.stringify(failed.body)).to.equal(404)
      expect([await stateOf(second), await eventsOf(second)]).to.deep.equal(['open', []])
      expect((await sent(run)).status).to.equal(200)
      expect(await eventsOf(second)).to.have.length(2)
    })

    it('are called undecidable by a replay: their records lack the facts of what they create', async () => {
      const id = await make('alice')
      await ask('alice', 'POST', `/jobs/${id}/hand-over`, {})
      await ask('otto', 'POST', `/jobs/${id}/log`, { what: 'seen', jobId: id })
      const bench = await openCandidate(join(server.folder, 'policies'), server.app.resources)
      const kind = async (action: string) => {
        const record = await server.lastDecision({ objectId: id, action, status: 200 })
        return (await decideAgain(bench, record as unknown as DecisionRecord)).kind
      }
      expect([await kind('hand-over'), await kind('log')]).to.deep.equal(['undecidable', 'allowed'])
    })
  })
}
