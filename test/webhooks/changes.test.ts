/** Where events go is part of what a review of a policy shows. */
import { expect } from 'chai'
import { changeSentence, directionOf } from '../../src/analysis/diff/change.ts'
import { comparePolicies } from '../../src/analysis/diff/compare-policies.ts'
import type { Subscription } from '../../src/decide/policy.ts'
import { plainText } from '../../src/present/phrase.ts'
import { edited, resources } from '../review/diff/shipped.ts'

const ERP: Subscription = {
  name: 'erp',
  url: 'https://erp.example.com/hook',
  key: 'KEYKEYKEYK',
  resource: 'orders',
  path: '/api/orders/events',
  secret: 1,
  enabled: true,
}

describe('a change of subscriptions.yaml', () => {
  const shipped = edited({})
  const changes = (before: readonly Subscription[], after: readonly Subscription[]) => {
    const sideOf = (subscriptions: readonly Subscription[]) => ({
      ...shipped,
      policy: { ...shipped.policy, subscriptions },
    })
    const sides = { before: sideOf(before), after: sideOf(after) }
    return comparePolicies(sides, { resources, now: 0 }).map(
      (one) => `${directionOf(one)}: ${plainText(changeSentence(one))}`,
    )
  }
  const erp = 'https://erp.example.com/hook by key KEYKEYKEYK from /api/orders/events'

  it('is told by the diff: a new address widens, and one that ends narrows', () => {
    expect(changes([], [ERP])).to.deep.equal([`widening: subscription erp: events go to nobody -> ${erp}`])
    expect(changes([ERP], [{ ...ERP, enabled: false }])).to.deep.equal([
      `narrowing: subscription erp: events go to ${erp} -> nobody`,
    ])
    expect(changes([ERP], [{ ...ERP, key: 'OTHEROTHER' }])).to.deep.equal([
      `either: subscription erp: events go to ${erp} -> ${erp.replace('KEYKEYKEYK', 'OTHEROTHER')}`,
    ])
  })

  it('keeps an address that reads like words apart from the sentence', () => {
    const path = '/api/orders/events?status=placed'
    const one = { ...ERP, url: 'https://erp.example.com/?a=1', path }
    expect(changes([], [one])).to.deep.equal([
      `widening: subscription erp: events go to nobody -> "${one.url}" by key KEYKEYKEYK from "${path}"`,
    ])
  })

  it('is none where only the number of the secret changes', () => {
    expect(changes([ERP], [{ ...ERP, secret: 2 }])).to.deep.equal([])
  })
})
