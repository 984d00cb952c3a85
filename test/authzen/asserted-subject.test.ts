/** A subject whose roles and attributes the PEP asserts (`asserted` in callers.yaml). */
import { expect } from 'chai'
import type { TestServer } from '../server.ts'
import { about, askingBy, ofMember, startAsserted, TOOL } from './asserted.ts'

describe('a subject by the word of a service', () => {
  let server: TestServer

  before(async () => {
    ;({ server } = await startAsserted())
  })
  after(() => server.stop())

  const { ask, decided } = askingBy(() => server)

  it('gives the roles that the entry names, and no others', async () => {
    const erin = (roles: unknown) =>
      about({ ...ofMember('red'), properties: { roles, department: 'red' } }, 'call', { properties: TOOL })
    expect(await decided('hr', erin(['member']))).to.equal(true)
    expect(await decided('hr', erin('member'))).to.equal(true)
    for (const roles of ['admin', ['admin'], ['support', 'auditor'], [], undefined]) {
      expect(await decided('hr', erin(roles)), String(roles)).to.equal('not-granted')
    }
    const both = about(ofMember('blue', { roles: ['member', 'admin'] }), 'call', { properties: TOOL })
    expect(await decided('hr', both)).to.equal('not-granted-here')
  })

  it('makes nobody a person that a rule names in an allow, and helps nobody past a deny by name', async () => {
    const call = (id: string) => decided('hr', about({ ...ofMember('red'), id }, 'call', { properties: TOOL }))
    expect([await call('boss'), await call('quinn'), await call('erin')]).to.deep.equal([
      'subject-named',
      'not-granted',
      true,
    ])
  })

  it('tells attributes, but a missing one never helps', async () => {
    const call = (department: string | undefined) =>
      decided('hr', about(ofMember(department), 'call', { properties: TOOL }))
    expect(await call('red')).to.equal(true)
    expect(await call('blue')).to.equal('not-granted-here')
    expect(await call(undefined)).to.equal('not-granted')
  })

  it('gets no further on a stored object by an attribute that is missing', async () => {
    const admin = await server.token('root', 'admin')
    const made = await server.ask('POST', '/papers', { token: admin, body: { team: 'red' } })
    const id = made.headers.get('location')?.split('/').pop()
    const answers = async (action: object, subject: object) => {
      const question = { subject, action, resource: { type: 'papers', id } }
      const { body: found } = await ask('hr', question, 'search/resource')
      const { status, body: filter } = await ask('hr', question, 'filter')
      return [await decided('hr', question), found.results.length === 1, status === 422 || filter.kind !== 'never']
    }
    const body = { properties: { body: { team: 'green' } } }
    const guarded = ['read', 'update', 'list', 'replace'].flatMap((name) => [{ name }, { name, ...body }])
    for (const action of guarded) {
      const what = JSON.stringify(action)
      expect((await answers(action, ofMember('red')))[0], what).to.equal('not-granted-here')
      expect(await answers(action, ofMember('blue')), what).to.deep.equal([true, true, true])
      for (const subject of [ofMember(undefined), ofMember(undefined, { department: null })]) {
        const [reason, isFound, hasRows] = await answers(action, subject)
        expect([reason, isFound, hasRows && !('properties' in action)], what).to.deep.equal([
          'attributes-missing',
          false,
          false,
        ])
      }
    }
    // No rule about it compares the attribute.
    expect(await answers({ name: 'delete' }, ofMember(undefined))).to.deep.equal([true, true, true])
  })

  it('creates nothing by an attribute that is missing', async () => {
    const create = (department: string | undefined) => {
      const resource = { type: 'papers', id: 'new', properties: { team: 'red' } }
      return decided('hr', { subject: ofMember(department), action: { name: 'create' }, resource })
    }
    expect([await create('blue'), await create(undefined)]).to.deep.equal([true, 'attributes-missing'])
    expect(await create('red')).to.equal('not-granted-here')
  })

  it('creates nothing whose field a missing attribute would fill, where a rule looks at the field', async () => {
    const create = (department: string | undefined, properties?: object) => {
      const resource = { type: 'drafts', id: 'new', ...(properties && { properties }) }
      return decided('hr', { subject: ofMember(department), action: { name: 'create' }, resource })
    }
    expect([await create('blue', {}), await create('red', {})]).to.deep.equal([true, 'not-granted-here'])
    expect([await create(undefined, {}), await create(undefined)]).to.deep.equal([
      'attributes-missing',
      'attributes-missing',
    ])
    // Nothing is filled.
    expect(await create(undefined, { team: 'blue' })).to.equal(true)
  })

  it('brings nobody back who is blocked or deleted', async () => {
    const call = (id: string) => decided('hr', about({ ...ofMember('red'), id }, 'call', { properties: TOOL }))
    // The users record of bob has no department, and it wins over what is told.
    expect([await call('mallory'), await call('bob')]).to.deep.equal(['subject-blocked', 'not-granted-here'])
    const admin = await server.token('root', 'admin')
    expect((await server.ask('DELETE', '/api/users/bob', { token: admin })).status).to.equal(204)
    expect(await call('bob')).to.equal('subject-disabled')
  })

  it('names an attribute that no users record could have: 400', async () => {
    const { status, body } = await ask('hr', about(ofMember('red', { department: 5 }), 'call', { properties: TOOL }))
    expect(status).to.equal(400)
    expect(body.errors[0].pointer).to.equal('/subject/properties/department')
    const unknown = ofMember('red', { department: null, shoeSize: 'any' })
    expect(await decided('hr', about(unknown, 'call', { properties: TOOL }))).to.equal('not-granted')
  })

  it('names the member that has no roles: 400', async () => {
    const { status, body } = await ask('hr', about(ofMember('red', { roles: [7] }), 'call', { properties: TOOL }))
    expect(status).to.equal(400)
    expect(body.errors[0].pointer).to.equal('/subject/properties/roles')
  })
})
