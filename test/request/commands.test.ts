/** Commands: declared changes of one object, which one request runs whole or not at all. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { decideAgain } from '../../src/analysis/replay/decide-again.ts'
import type { Rule } from '../../src/decide/policy.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { loadPolicy } from '../../src/tools/load-policy.ts'
import { openCandidate, replayPolicyOf } from '../../src/tools/replay/replay.ts'
import { NeededParts } from '../../src/tools/usage/needed-parts.ts'
import { policyParts } from '../../src/tools/usage/parts.ts'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { ruledBy } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { COMMANDING } from './commanding-world.ts'

for (const [engine, startOn] of ENGINES) {
  describe(`commands, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    let tokens: OnEngine['tokens']

    before(async () => {
      on = await startOn({ files: COMMANDING })
      ;({ server, tokens } = on)
    })
    after(() => on.stop())

    const ask = (
      who: string,
      path: string,
      {
        method = 'POST',
        body,
        headers = {},
      }: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
    ) => server.ask(method, path, { token: tokens[who], headers, ...(body === undefined ? {} : { body }) })

    const make = async (who: string, fields: Record<string, unknown> = {}) =>
      (await ask('ada', '/jobs', { body: { ownerId: who, ...fields } })).body.id as string
    const jobOf = async (id: string) => (await ask('ada', `/jobs/${id}`, { method: 'GET' })).body

    it('set fields from constants, the input, the caller and the time, in one write with its record', async () => {
      const id = await make('alice')
      const { status, body, headers } = await ask('alice', `/jobs/${id}/finish`, { body: { note: 'done' } })
      expect([status, body.state, body.note, body.by], JSON.stringify(body)).to.deep.equal([
        200,
        'done',
        'done',
        'alice',
      ])
      expect(body.at).to.equal(body.updatedAt)
      expect(headers.get('etag')).to.equal((await ask('alice', `/jobs/${id}`, { method: 'GET' })).headers.get('etag'))
      expect(await jobOf(id)).to.deep.equal({ ...body, secret: 'none' })
      expect(await server.lastDecision({ action: 'finish', objectId: id })).to.include({
        route: '/jobs/{id}/finish',
        method: 'POST',
        resource: 'jobs',
        outcome: 'allowed',
      })
    })

    it('need the grant of their action, and the right of each step: neither is enough', async () => {
      const id = await make('bob')
      // Support has the action and no right to update; bob has the right and, for `reopen`, no action.
      expect((await ask('sue', `/jobs/${id}/finish`, { body: { note: 'x' } })).status).to.equal(403)
      expect((await ask('bob', `/jobs/${id}/reopen`)).status).to.equal(403)
      expect((await ask('alice', `/jobs/${id}/finish`, { body: { note: 'x' } })).status).to.equal(403)
      expect(await jobOf(id)).to.include({ state: 'open', ownerId: 'bob' })
      expect((await ask('bob', `/jobs/${id}`, { method: 'PATCH', body: { secret: 's' } })).status).to.equal(403)
      expect((await ask('bob', `/jobs/${id}/stamp`)).body.code).to.equal('field-forbidden')
      expect(await jobOf(id)).to.include({ secret: 'none' })
    })

    it('with `grants: steps` need the grant of their action alone, and only for the fields that it names', async () => {
      const id = await make('bob')
      expect((await ask('sue', `/jobs/${id}`, { method: 'PATCH', body: { state: 'held' } })).status).to.equal(403)
      expect((await ask('sue', `/jobs/${id}/hold`)).status).to.equal(200)
      expect(await jobOf(id)).to.include({ state: 'held' })
      expect((await ask('otto', `/jobs/${await make('bob')}/hold`)).body.code).to.equal('field-forbidden')
    })

    it('answer 409 in another state, only to a caller who may read it, and change nothing', async () => {
      const id = await make('alice', { state: 'done' })
      const { status, body } = await ask('alice', `/jobs/${id}/finish`, { body: { note: 'again' } })
      expect([status, body.code, body.errors]).to.deep.equal([
        409,
        'command-state',
        [{ pointer: '/state', detail: 'must be `open` or `held` before', code: 'require' }],
      ])
      expect(await jobOf(id)).not.to.have.property('note')
      // Whoever can't read the field gets one answer for every value of it.
      const [open, guarded] = [await make('alice'), await make('alice', { secret: 'kept' })]
      const answers = [await ask('alice', `/jobs/${open}/unlock`), await ask('alice', `/jobs/${guarded}/unlock`)]
      expect(answers.map((one) => [one.status, one.body.code])).to.deep.equal([
        [403, 'field-forbidden'],
        [403, 'field-forbidden'],
      ])
      expect((await ask('ada', `/jobs/${open}/unlock`)).status).to.equal(200)
      expect((await ask('ada', `/jobs/${guarded}/unlock`)).body.code).to.equal('command-state')
    })

    it('refuse an input that does not fit, before anything is written', async () => {
      const id = await make('alice')
      const bodies = [{}, { note: 1 }, { note: 'x', state: 'open' }, { note: 'x'.repeat(51) }]
      for (const body of bodies) {
        const answer = await ask('alice', `/jobs/${id}/finish`, { body })
        expect([answer.status, answer.body.code], JSON.stringify(body)).to.deep.equal([400, 'invalid-body'])
      }
      expect((await ask('alice', `/jobs/${id}/finish`)).status).to.equal(400)
      expect((await ask('ada', `/jobs/${id}/reopen`, { body: { state: 'done' } })).status).to.equal(400)
      const patched = await ask('alice', `/jobs/${id}/finish`, {
        body: { note: 'x' },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      expect(patched.status).to.equal(415)
      expect((await ask('alice', `/jobs/${id}/finish?can=true`, { body: { note: 'x' } })).status).to.equal(400)
      expect((await ask('alice', `/jobs/${id}/finish`, { method: 'PUT', body: { note: 'x' } })).status).to.equal(405)
      expect((await ask('alice', '/jobs/nowhere/finish', { body: { note: 'x' } })).status).to.equal(404)
      expect(await jobOf(id)).to.include({ state: 'open' })
    })

    it('write nothing where nothing changes, as a PATCH: version, tag and time stay', async () => {
      const id = await make('bob', { state: 'held' })
      const before = await jobOf(id)
      expect((await ask('sue', `/jobs/${id}/hold`)).status).to.equal(200)
      expect(await jobOf(id)).to.deep.equal(before)
      // A command needs the fields that it sets, whether or not their values change.
      expect((await ask('otto', `/jobs/${id}/hold`)).body.code).to.equal('field-forbidden')
    })

    it('compare If-Match with the state that they write, and need it where they say so', async () => {
      const id = await make('alice')
      const tag = (await ask('alice', `/jobs/${id}`, { method: 'GET' })).headers.get('etag') ?? ''
      await ask('alice', `/jobs/${id}`, { method: 'PATCH', body: { note: 'newer' } })
      const late = await ask('alice', `/jobs/${id}/finish`, { body: { note: 'x' }, headers: { 'if-match': tag } })
      expect(late.status).to.equal(412)
      expect((await ask('ada', `/jobs/${id}/reopen`)).status).to.equal(428)
      expect((await ask('ada', `/jobs/${id}/reopen`, { headers: { 'if-match': '*' } })).status).to.equal(200)
    })

    it('run once for an idempotency key: each repeat gets the first answer', async () => {
      const id = await make('alice')
      const finish = (note: string) =>
        ask('alice', `/jobs/${id}/finish`, { body: { note }, headers: { 'idempotency-key': `finish-${id}` } })
      const first = await finish('once')
      const again = await finish('once')
      expect([first.status, again.status]).to.deep.equal([200, 200])
      expect(again.headers.get('idempotency-replayed')).to.equal('true')
      expect(again.body).to.deep.equal(first.body)
      expect((await finish('other')).body.code).to.equal('idempotency-key-reused')
      const without = await ask('alice', `/jobs/${id}/finish`, { body: { note: 'once' } })
      expect(without.body.code).to.equal('command-state')
    })

    it('of which two at once require the same state: one is done', async () => {
      const id = await make('alice')
      const answers = await Promise.all(
        ['a', 'b', 'c'].map((note) => ask('alice', `/jobs/${id}/finish`, { body: { note } })),
      )
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409])
      expect((await jobOf(id)).note).to.equal(answers.find(({ status }) => status === 200)?.body.note)
    })

    it('are decided again from their records, with the right of their steps', async () => {
      const id = await make('alice')
      await ask('sue', `/jobs/${id}/finish`, { body: { note: 'x' } })
      await ask('sue', `/jobs/${id}/hold`)
      await ask('alice', `/jobs/${id}/finish`, { body: { note: 'x' } })
      const find = (action: string, status: number) => server.lastDecision({ objectId: id, action, status })
      const all = [await find('finish', 200), await find('finish', 403), await find('hold', 200)]
      const records = all as unknown as readonly DecisionRecord[]
      const { resources } = server.app
      const bench = await openCandidate(join(server.folder, 'policies'), resources)
      const kinds = async (some: readonly DecisionRecord[], by = bench) =>
        (await Promise.all(some.map((one) => decideAgain(by, one)))).map(({ kind }) => kind)
      expect(await kinds(records)).to.deep.equal(['allowed', 'refused', 'allowed'])
      const loaded = await loadPolicy(join(server.folder, 'policies'), resources)
      const isUpdate = ({ subject, resource, actions }: Rule) =>
        subject === 'member' && resource === 'jobs' && actions.includes('update')
      const rules = loaded.policy.rules.filter((rule) => !isUpdate(rule))
      const without = replayPolicyOf({ ...ruledBy(loaded, rules), policy: { ...loaded.policy, rules } }, resources)
      expect(await kinds(records, without)).to.deep.equal(['refused', 'refused', 'allowed'])
      // The rules about `update` are needed, so none of them is called unused.
      const parts = new NeededParts(loaded, resources, policyParts(loaded.policy, resources))
      const { needed, unseen } = await parts.of(records[0] as DecisionRecord)
      const told = [...needed, ...unseen.map(([part]) => part)].map((part) => (part.kind === 'action' ? part.name : ''))
      expect(told).to.include.members(['finish', 'update'])
    })

    it('are explained with both of their rights, and whoever lacks one is told which', async () => {
      const id = await make('bob')
      const say = async (tool: string, path: string, ...more: readonly string[]) => {
        const words = [...tool.split(' '), 'POST', path, ...more, '--format', 'json']
        return JSON.parse((await sallyport(words, { env: on.env })).stdout)
      }
      const finish = `/jobs/${id}/finish`
      const explained = async (path: string, role: string, relation: string) => {
        const told = await say('policy explain', path, '--role', role, '--relation', relation)
        const rules = told.rules.map(({ text }: { readonly text: string }) => text)
        return [told.answer.code, told.reason.replace(/(, whatever| on an) .*/, ''), rules]
      }
      const [update, own] = [
        'p, member, jobs, read|list|update, owner, open, allow',
        'p, member, jobs, finish|stamp|unlock, owner, *, allow',
      ]
      const answers = [
        await explained(finish, 'member', 'owner'),
        await explained(finish, 'support', 'none'),
        await explained(`/jobs/${id}/reopen`, 'member', 'owner'),
        await explained(`/jobs/${id}/stamp`, 'member', 'owner'),
      ]
      expect(answers).to.deep.equal([
        [null, 'a rule allows it', [update, own]],
        [
          'forbidden',
          'a rule allows finish, but its steps need update too, which no rule allows to this caller',
          ['p, support, jobs, finish, any, *, allow'],
        ],
        ['forbidden', 'a rule allows update, but no rule allows reopen to this caller', [update]],
        [
          'field-forbidden',
          'the rules that allow it do not let this caller set every field of the command',
          [update, own],
        ],
      ])
      const { who } = await say('access who', finish)
      const tokens = who.filter(({ kind, subject }: Record<string, unknown>) => kind === 'token' && subject === null)
      expect(tokens.map(({ roles, when }: Record<string, unknown>) => [roles, when])).to.deep.equal([
        [['member'], ['owner']],
        [['support'], ['owner']],
        [['admin'], []],
      ])
    })

    it('are among what an object’s caller can do, and in the OpenAPI document', async () => {
      const id = await make('alice')
      const can = async (who: string) => (await ask(who, `/jobs/${id}?can=true`, { method: 'GET' })).body.can.actions
      expect(await can('alice')).to.include('finish')
      // The grant of the action without the right of its step.
      expect(await can('sue'))
        .to.include('hold')
        .and.not.to.include('finish')
      const document = (await ask('alice', '/openapi.json', { method: 'GET' })).body
      const { post } = document.paths['/jobs/{id}/finish']
      expect(post).to.deep.include({ summary: 'Finish a job' })
      expect(post.requestBody.required).to.equal(true)
      expect(Object.keys(post.requestBody.content)).to.deep.equal(['application/json'])
      expect(document.paths['/jobs/{id}/reopen']).not.to.have.property('post')
    })
  })
}

describe('the command of docs/commands.md', () => {
  const page = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8')
  const shipped = readFileSync(new URL('../../schemas/commands/place-order.json', import.meta.url), 'utf8')
  const blocks = [...page.matchAll(/^```json\n(.*?)^```/gms)].map(([, text = '']) => text)
  const parts = blocks.filter((text) => text.startsWith('"')).map((text) => JSON.parse(`{${text}}`))
  const limits = `body: 100kb
page: { default: 50, max: 200 }
limits:
  placing: { match: { action: place, resource: orders }, per: subject, allow: 2, window: 1h }
`

  it('is answered as the page says, with the note that it creates, as often as a limit of its action lets it', async () => {
    expect(JSON.parse(blocks[0] ?? '')).to.deep.equal(JSON.parse(shipped))
    const command = JSON.stringify(Object.assign(JSON.parse(shipped), ...parts))
    const server = await startTestServer({
      files: {
        'schemas/commands/place-order.json': command,
        'policies/limits.yaml': limits,
      },
    })
    try {
      const token = await server.token('alice', 'member')
      const body = { currency: 'EUR', items: [{ sku: 'A1', quantity: 1, unitPrice: 100 }] }
      const { id } = (await server.ask('POST', '/api/orders', { token, body })).body
      const can = (await server.ask('GET', `/api/orders/${id}?can=true`, { token })).body.can.actions
      expect(can).to.include('place')
      const sent = () => server.ask('POST', `/api/orders/${id}/place`, { token, body: { note: 'soon' } })
      const placed = await sent()
      expect([placed.status, placed.body.status, placed.body.note]).to.deep.equal([200, 'placed', 'soon'])
      const { items } = (await server.ask('GET', '/api/v1/notes', { token })).body
      expect(
        items.map(({ ownerId, title, body: text }: Record<string, unknown>) => [ownerId, title, text]),
      ).to.deep.equal([['alice', 'Order placed', 'soon']])
      expect([(await sent()).status, (await sent()).body.code]).to.deep.equal([403, 'quota-exceeded'])
      expect((await server.ask('GET', `/api/orders/${id}`, { token })).status).to.equal(200)
    } finally {
      await server.stop()
    }
  })
})
