/** What a key of the console signs: what its owner asked for, and no other text of a server. */
import { expect } from 'chai'
import { whyNotToSign } from '../../packages/console/src/signing/to-sign.ts'

const KID = 'f3S9dtRsdXcEBYhR4pZ0ZcLkWfUjyXyX7HJNRgYmqQs'
const PROPOSAL = { alg: 'EdDSA', kid: KID, typ: 'sallyport-proposal' }
const APPROVAL = { ...PROPOSAL, typ: 'sallyport-approval' }
const TITLE = 'members read orders, “all” of them'

const text = (...parts: readonly unknown[]) =>
  parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

const why = (word: string, toSign: string) =>
  whyNotToSign(toSign, { path: `/policy/v1/${word}`, body: word === 'propose' ? { title: TITLE } : {}, kid: KID })

describe('a key of the console', () => {
  it('signs what was asked for', () => {
    const answers = [
      why('propose', text(PROPOSAL, { title: TITLE })),
      why('block', text(PROPOSAL, { title: 'block user:mallory' })),
      why('unblock', text(PROPOSAL, { title: 'unblock user:mallory' })),
      why('approve', text(APPROVAL, { says: 'approved' })),
      why('reject', text(APPROVAL, { says: 'rejected' })),
      why('withdraw', text(APPROVAL, { says: 'withdrawn' })),
    ]
    expect(answers).to.deep.equal(answers.map(() => undefined))
  })

  it('signs no other text', () => {
    const others = {
      'a text for another key': [
        why('approve', text({ ...APPROVAL, kid: 'other' }, { says: 'approved' })),
        why('approve', text({ ...APPROVAL, alg: 'none' }, { says: 'approved' })),
      ],
      'a text of another kind': [
        why('approve', text(PROPOSAL, { says: 'approved' })),
        why('propose', text(APPROVAL, { says: 'approved', title: TITLE })),
        why('block', text({ ...PROPOSAL, typ: 'sallyport-grant' }, {})),
      ],
      'a text that does not say `rejected`': [why('reject', text(APPROVAL, { says: 'approved' }))],
      'a proposal with another title': [why('propose', text(PROPOSAL, { title: 'another' }))],
      'a text that is not one of a header and a payload': [
        why('approve', ''),
        why('approve', 'e.e'),
        why('approve', text(APPROVAL)),
        why('approve', text(APPROVAL, 'approved')),
        why('approve', text(APPROVAL, { says: 'approved' }, {})),
      ],
    }
    for (const [sentence, answers] of Object.entries(others)) {
      expect(answers, sentence).to.deep.equal(answers.map(() => sentence))
    }
  })
})
