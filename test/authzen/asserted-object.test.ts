/** An object whose attributes the PEP asserts: counted where it is not stored, never instead of a stored one. */
import { expect } from 'chai'
import type { TestServer } from '../server.ts'
import { about, askingBy, ofMember, startAsserted, TOOL } from './asserted.ts'

describe('what a service tells', () => {
  let server: TestServer
  let note: string

  before(async () => {
    ;({ server, note } = await startAsserted())
  })
  after(() => server.stop())

  const { ask, decided } = askingBy(() => server)

  describe('about an object that is kept elsewhere', () => {
    const call = (properties: object, action = 'call') => decided('hr', about(ofMember('red'), action, { properties }))

    it('counts as told', async () => {
      expect(await call(TOOL)).to.equal(true)
      expect(await call({ ...TOOL, team: 'blue' })).to.equal('not-granted-here')
      expect(await call({ ...TOOL, state: 'closed' })).to.equal('not-granted-here')
    })

    it('grants nothing by an attribute that is missing: neither for a deny nor for `!`', async () => {
      const { state: _, ...withoutState } = TOOL
      const { team: __, ...withoutTeam } = TOOL
      expect(await call(withoutState)).to.equal('attributes-missing')
      expect(await call(withoutTeam)).to.equal('attributes-missing')
      expect(await call({}, 'approve')).to.equal('attributes-missing')
      expect(await call({ state: 'open' }, 'approve')).to.equal(true)
    })

    it('has no value where null says so, if its schema lets the field be null', async () => {
      expect([await call({ ...TOOL, state: null }), await call({ state: null }, 'approve')]).to.deep.equal([true, true])
      const faulty = about(ofMember('red'), 'call', { properties: { ...TOOL, team: null } })
      const { status, body } = await ask('hr', faulty)
      expect([status, body.errors[0].pointer]).to.deep.equal([400, '/resource/properties/team'])
    })

    it('is refused with the faulty member named, alone and as an item', async () => {
      const faulty = about(ofMember('red'), 'call', { properties: { ...TOOL, state: 'ajar', wheels: 4 } })
      const { status, body } = await ask('hr', faulty)
      expect(status).to.equal(400)
      expect(body.errors.map((one: { pointer: string }) => one.pointer)).to.have.members([
        '/resource/properties/state',
        '/resource/properties/wheels',
      ])
      const sound = about(ofMember('red'), 'call', { properties: TOOL })
      const batch = await ask('hr', { evaluations: [faulty, sound] }, 'evaluations')
      expect(batch.status).to.equal(200)
      expect(batch.body.evaluations.map((one: { decision: boolean }) => one.decision)).to.deep.equal([false, true])
      expect(batch.body.evaluations[0].context.error).to.deep.include({ status: 400 })
      expect(batch.body.evaluations[0].context.error.message).to.include('/resource/properties/state')
    })

    it('is told in few words for each item, however long and many the names of its faults are', async () => {
      const names = Array.from({ length: 90 }, (_, i) => `${i}${'x'.repeat(1000)}`)
      const properties = { ...TOOL, ...Object.fromEntries(names.map((name) => [name, 1])) }
      const faulty = { ...about(ofMember('red'), 'call', { properties }), evaluations: Array(1000).fill({}) }
      const { status, body, text } = await ask('hr', faulty, 'evaluations')
      expect(status).to.equal(200)
      expect(text.length).to.be.lessThan(2_500_000)
      const { message } = body.evaluations[999].context.error
      expect(message)
        .to.include('/resource/properties/0xxx')
        .and.match(/; and 80 more$/)
    })

    it('is named by fields: some are granted, which only a service hears that heeds them', async () => {
      const update = (fields?: readonly string[]) => ({
        ...about(ofMember(undefined), 'update', { properties: { ...TOOL, team: 'erin' } }),
        ...(fields && { context: { fields } }),
      })
      expect(await decided('hr', update())).to.equal('partly-granted')
      expect(await decided('hr', update(['title']))).to.equal(true)
      expect(await decided('hr', update(['secret']))).to.equal('fields-refused')
      const ofDirectory = about({ id: 'alice' }, 'update', { properties: { ...TOOL, team: 'alice' } })
      const { body } = await ask('crm', ofDirectory)
      expect(body.decision).to.equal(true)
      expect(body.context.fields).to.have.members(['id', 'title'])
    })
  })

  it('tells of an object no field beside the view of its route, as if it were stored', async () => {
    const told = { type: 'sheets', id: 'elsewhere', properties: { title: 'Mine', cost: '9' } }
    const ofFields = (name: string, fields: readonly string[]) => about(ofMember('red'), name, told, { fields })
    expect(await decided('hr', about(ofMember('red'), 'peek', told))).to.equal(true)
    expect(await decided('hr', ofFields('peek', ['title']))).to.equal(true)
    expect(await decided('hr', ofFields('peek', ['cost']))).to.equal('fields-refused')
    expect(await decided('hr', ofFields('read', ['cost']))).to.equal(true)
    const { body } = await ask('crm', about({ id: 'alice' }, 'peek', told))
    expect(body.context.fields).to.have.members(['id', 'title'])
    // The rule grants no field of the view.
    expect(await decided('hr', about(ofMember('red'), 'price', told))).to.equal('not-granted-here')
    expect(await decided('crm', about({ id: 'alice' }, 'price', told))).to.equal('not-granted-here')
  })

  it('weighs a change as if all values stayed, also where the change is a replacement', async () => {
    const may = (name: string, cost: string) =>
      decided('hr', about(ofMember('red'), name, { type: 'sheets', id: 'elsewhere', properties: { cost } }))
    for (const name of ['update', 'replace']) {
      expect([await may(name, '1'), await may(name, '9')], name).to.deep.equal([true, 'not-granted-here'])
    }
  })

  it('never replaces a stored object', async () => {
    const forged = (id: string) =>
      about(ofMember(undefined), 'read', { type: 'notes', id, properties: { ownerId: 'erin', title: 'Mine' } })
    expect(await decided('hr', forged(note))).to.equal('not-granted-here')
    expect(await decided('hr', forged('new'))).to.equal(true)
  })

  it('is judged with its body where it is stored, as if nothing were told', async () => {
    const update = (id: string, subject: object, body?: object, properties: object = {}) => {
      const action = { name: 'update', ...(body && { properties: { body } }) }
      return about(subject, action, { type: 'notes', id, properties })
    }
    const alice = { id: 'alice' }
    for (const role of ['crm', 'pdp-client', 'writer']) {
      expect(await decided(role, update(note, alice, { title: 'x' })), role).to.equal(true)
      expect(await decided(role, update(note, alice, { title: 7 })), role).to.equal('body-invalid')
      expect(await decided(role, update(note, alice, { title: 'x' }, { wheels: 4 })), role).to.equal(true)
    }
    const elsewhere = await ask('writer', update('new', alice, { title: 'x' }))
    expect([elsewhere.status, elsewhere.body.errors[0].pointer]).to.deep.equal([400, '/action/properties/body'])
  })
})
