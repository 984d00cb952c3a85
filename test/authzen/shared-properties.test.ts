/** What all items of a batch share is judged once, however many items and properties there are. */
import { expect } from 'chai'
import { readEvaluations } from '../../src/server/authzen/entities.ts'
import { type Pep, pepOf } from '../../src/server/authzen/pep.ts'
import { assertedObject, subjectOf } from '../../src/server/authzen/trust.ts'

const MANY = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`property${at}`, at]))
const ACTION = { action: { name: 'call' } }

describe('properties that a service asserts in a batch', () => {
  const judged = { object: 0, subject: 0 }
  const counting = (what: keyof typeof judged) => ({
    name: 'tools',
    fields: new Map(Object.keys(MANY).map((name) => [name, {}])),
    validate: () => {
      judged[what] += 1
      return []
    },
  })

  /** All that these questions need of a service's request. */
  function newRequest(): Pep {
    const trust = {
      subjects: new Map([['user', { kind: 'asserted', roles: new Set(['member']) }]]),
      assertedResources: new Set(['tools']),
    }
    const snapshot = { trustOf: () => trust, subjectOf: () => undefined, grantsByName: () => false }
    const parts = {
      resources: { byName: new Map([['users', counting('subject')]]) },
      directory: { accountStatus: () => ({ disabled: false, deleted: false }) },
    }
    return pepOf(parts as never, { policy: { snapshot }, at: 0, address: '' } as never)
  }

  async function judge(pep: Pep, body: Parameters<typeof readEvaluations>[0]) {
    Object.assign(judged, { object: 0, subject: 0 })
    const evaluations = readEvaluations(body)
    if (!('items' in evaluations)) throw new Error('a batch has items')
    for (const item of evaluations.items) {
      if ('faults' in item) throw new Error(JSON.stringify(item.faults))
      assertedObject(pep, counting('object') as never, item, { caller: { id: 'a', roles: [], claims: {} } })
      expect(await subjectOf(pep, item.subject)).to.have.property('isAsserted', true)
    }
    return { ...judged }
  }

  const subject = { type: 'user', id: 'alice', properties: { role: 'member', ...MANY } }
  const resource = { type: 'tools', id: 't1', properties: MANY }

  it('are judged once where all items share them', async () => {
    const evaluations = Array.from({ length: 1000 }, () => ({}))
    expect(await judge(newRequest(), { ...ACTION, subject, resource, evaluations })).to.deep.equal({
      object: 1,
      subject: 1,
    })
  })

  it('are judged once also where items have one of them of their own', async () => {
    const evaluations = Array.from({ length: 100 }, (_, at) => ({ resource: { ...resource, id: `t${at}` } }))
    expect(await judge(newRequest(), { ...ACTION, subject, evaluations })).to.deep.equal({ object: 100, subject: 1 })
  })

  // The negative control: what differs, and what another request asserts, is judged for itself.
  it('are judged for each item that has its own, and for each request', async () => {
    const evaluations = Array.from({ length: 100 }, (_, at) => ({
      subject: { ...subject, id: `user${at}` },
      resource: { ...resource, id: `t${at}` },
    }))
    expect(await judge(newRequest(), { ...ACTION, evaluations })).to.deep.equal({ object: 100, subject: 100 })
    const body = { ...ACTION, subject, resource, evaluations: [{}, {}] }
    expect([await judge(newRequest(), body), await judge(newRequest(), body)]).to.deep.equal([
      { object: 1, subject: 1 },
      { object: 1, subject: 1 },
    ])
  })
})
