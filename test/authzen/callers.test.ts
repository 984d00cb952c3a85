/** Who may assert what (policies/callers.yaml): words count only where an entry says so, and never beyond it. */
import { readFile, writeFile } from 'node:fs/promises'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { until } from '../request/until.ts'
import { runs } from '../runs.ts'
import type { Answer, TestServer } from '../server.ts'
import { about, askingBy, ofMember, startAsserted, TOOL } from './asserted.ts'

describe('what an asking service asserts', () => {
  let server: TestServer
  let note: string

  before(async () => {
    ;({ server, note } = await startAsserted())
  })
  after(() => server.stop())

  const { ask, decided } = askingBy(() => server)

  describe('without an entry', () => {
    const value = fc.oneof(
      fc.constantFrom<unknown>('admin', 'bob', 'alice', true, ['admin'], ['member', 'admin'], null),
      fc.string(),
    )
    const properties = fc.dictionary(
      fc.constantFrom('roles', 'role', 'id', 'ownerId', 'token', 'department', 'title', 'customerId'),
      value,
    )
    const question = fc.record({
      id: fc.constantFrom('alice', 'bob', 'dora', 'nobody'),
      action: fc.constantFrom('read', 'update', 'delete'),
      ofSubject: properties,
      ofResource: properties,
      context: fc.dictionary(fc.constantFrom('roles', 'inOffice', 'soft'), value),
    })
    const changesNothing = (service: string) =>
      fc.asyncProperty(question, async ({ id, action, ofSubject, ofResource, context }) => {
        const plain = { subject: { type: 'user', id }, action: { name: action }, resource: { type: 'notes', id: note } }
        const told = {
          subject: { ...plain.subject, properties: ofSubject },
          action: plain.action,
          resource: { ...plain.resource, properties: ofResource },
          context,
        }
        const { body: answer } = await ask(service, told)
        expect(answer.context?.reason ?? answer.decision).to.equal(await decided(service, plain))
      })

    it('changes no decision: a stolen key makes nobody an admin, nor an object anybody else’s', () =>
      fc.assert(changesNothing('pdp-client'), { numRuns: runs(60) }))

    it('is compared so that a service is found out whose word counts', async () => {
      const outcome = await fc.check(changesNothing('believer'), { numRuns: 500, seed: 3, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })

    it('lets no service name other subjects, nor tell of resources kept elsewhere', async () => {
      expect(await decided('pdp-client', about(ofMember('red'), 'call', { properties: TOOL }))).to.equal('subject-type')
      const alice = about({ id: 'alice' }, 'approve', { properties: TOOL })
      expect(await decided('pdp-client', alice)).to.equal('attributes-missing')
    })
  })

  describe('by a token that it passes along', () => {
    const withToken = (id: string, token: unknown) =>
      about({ type: 'identity', id, properties: { token } }, 'read', { type: 'notes', id: note })

    it('is what the token proves', async () => {
      expect(await decided('crm', withToken('alice', await server.token('alice', 'member')))).to.equal(true)
      expect(await decided('crm', withToken('bob', await server.token('bob', 'member')))).to.equal('not-granted-here')
      expect(await decided('crm', withToken('audrey', await server.token('audrey', 'auditor')))).to.equal(true)
    })

    it('is nothing with the token of somebody else, a forged one, or none', async () => {
      const token = await server.token('alice', 'member')
      for (const other of [await server.token('bob', 'admin'), `${token}x`, 'x', '', 7, null, undefined]) {
        expect(await decided('crm', withToken('alice', other)), String(other)).to.equal('subject-token')
      }
    })

    it('proves the sign-in to conditions, which are unknown without it', async () => {
      const token = await server.token('alice', 'member')
      const list = (subject: object) => about(subject, 'list', { properties: TOOL })
      expect(await decided('crm', list({ type: 'identity', id: 'alice', properties: { token } }))).to.equal(true)
      expect(await decided('crm', list({ id: 'alice' }))).to.equal('condition-unknown')
    })

    it('stays out of records and logs', async () => {
      const token = await server.token('alice', 'member')
      await ask('crm', withToken('alice', token))
      await ask('crm', withToken('bob', token))
      await ask('crm', { ...withToken('alice', token), evaluations: [{}] }, 'evaluations')
      expect(JSON.stringify([await server.decisions(), server.log])).not.to.include(token.split('.')[2])
    })
  })

  it('maps names of actions, for one resource or for all', async () => {
    const named = (name: string, role = 'crm') => decided(role, about({ id: 'dora' }, name, { properties: TOOL }))
    const asAdmin = async (name: string) => {
      const token = await server.token('dora', 'admin')
      return decided('crm', about({ type: 'identity', id: 'dora', properties: { token } }, name, { properties: TOOL }))
    }
    expect([await asAdmin('can_read'), await asAdmin('GET'), await asAdmin('tools/call')]).to.deep.equal([
      true,
      true,
      true,
    ])
    expect(await named('POST')).to.equal('action-unknown')
    expect(await named('can_read', 'pdp-client')).to.equal('action-unknown')
  })

  it('tells conditions that the entry names, as booleans; all others are unknown', async () => {
    const remove = (properties?: object) =>
      about({ id: 'alice' }, { name: 'remove', ...(properties && { properties }) }, { properties: TOOL })
    expect(await decided('crm', remove({ soft: true }))).to.equal(true)
    expect(await decided('crm', remove({ soft: false }))).to.equal('not-granted')
    expect(await decided('crm', remove())).to.equal('condition-unknown')
    expect(await decided('pdp-client', remove({ soft: true }))).to.equal('condition-unknown')
    const { status, body } = await ask('crm', remove({ soft: 'yes' }))
    expect([status, body.errors[0].pointer]).to.deep.equal([400, '/action/properties/soft'])
    const read = (context?: object) => about({ id: 'alice' }, 'read', { properties: TOOL }, context)
    expect(await decided('crm', read({ inOffice: true }))).to.equal(true)
    expect(await decided('crm', read({ inOffice: false }))).to.equal('not-granted')
    expect(await decided('crm', read())).to.equal('condition-unknown')
  })

  it('is heeded as soon as the file changes, and a faulty file leaves the former in force', async () => {
    const file = `${server.folder}/policies/callers.yaml`
    const callers = await readFile(file, 'utf8')
    const erin = about(ofMember('red'), 'call', { properties: TOOL })
    const reason = ({ body }: Answer) => body.context.reason ?? body.decision
    const asked = () => ask('hr', erin)
    await writeFile(file, callers.replace('asserted: [member]', 'asserted: [membr]'))
    await until(
      () => server.ask('GET', '/readyz'),
      ({ body }) => body.status === 'degraded',
    )
    expect(reason(await asked())).to.equal(true)
    await writeFile(file, callers.replace('asserted: [member]', 'asserted: []'))
    await until(asked, (answer) => reason(answer) === 'not-granted')
    await writeFile(file, callers)
    await until(asked, (answer) => reason(answer) === true)
  })
})
