/** What a key of the console signs: what its owner asked for, and no other text of a server. */
import { expect } from 'chai'
import { whyNotToSign } from '../../packages/console/src/signing/to-sign.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'

const KID = 'f3S9dtRsdXcEBYhR4pZ0ZcLkWfUjyXyX7HJNRgYmqQs'
const PROPOSAL = { alg: 'EdDSA', kid: KID, typ: 'sallyport-proposal' }
const APPROVAL = { ...PROPOSAL, typ: 'sallyport-approval' }
const REVIEW = { ...PROPOSAL, typ: 'sallyport-access-review' }
const REVIEWED = { digest: 'd1', confirmed: '1-3', revoked: '4', reason: 'fourth quarter' }
const GRANT = { ...PROPOSAL, typ: 'sallyport-grant' }
const ABOUT = { ...PROPOSAL, typ: 'sallyport-about-grant' }
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
const NOW = inHours(0)
const TIMES = { time: NOW, until: new Date(Date.parse(NOW) + 3_600_000).toISOString() }
const GIVEN = { kind: 'break-glass', role: 'admin', to: 'alice', reason: 'payments are down', ...TIMES }
/** From the proposal, or from its beginning. */
const WEEK = {
  expires: new Date(Date.parse(NOW) + 7 * 24 * 3_600_000).toISOString(),
  files: { 'policy.csv': digestOfText('p') },
}
const TITLE = 'members read orders, “all” of them'

/** The second part has a time, if it says no other. */
const text = (...parts: readonly unknown[]) =>
  parts
    .map((part, i) => (i === 1 && typeof part === 'object' ? { time: NOW, ...part } : part))
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')

const BODIES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  propose: { title: TITLE, files: { 'policy.csv': 'p', 'masks.yaml': null } },
  block: { user: 'user:mallory', reason: 'stolen' },
  unblock: { user: 'mallory@example.com' },
  reject: { reason: 'too much' },
  'break-glass': { role: 'admin', to: 'user:alice', for: '1h', reason: 'payments are down' },
  'review-glass': { finding: 'one order' },
  'review-access': { report: 'd1', confirm: '1-3', revoke: '4', reason: 'fourth quarter' },
}
const why = (word: string, toSign: string) =>
  whyNotToSign(toSign, { path: `/policy/v1/${word}`, body: BODIES[word] ?? {}, kid: KID })

describe('a key of the console', () => {
  it('signs what was asked for', async () => {
    const answers = await Promise.all([
      why('propose', text(PROPOSAL, { title: TITLE, ...WEEK })),
      why('block', text(PROPOSAL, { title: 'block user:mallory: stolen' })),
      why('unblock', text(PROPOSAL, { title: 'unblock user:m1' })),
      why('review-access', text(REVIEW, REVIEWED)),
      why('break-glass', text(GRANT, GIVEN)),
      why('review-glass', text(ABOUT, { says: 'reviewed', text: 'one order' })),
      why('revoke-grant', text(ABOUT, { says: 'revoked' })),
      why('approve', text(APPROVAL, { says: 'approved' })),
      why('reject', text(APPROVAL, { says: 'rejected', reason: 'too much' })),
      why('withdraw', text(APPROVAL, { says: 'withdrawn' })),
    ])
    expect(answers).to.deep.equal(answers.map(() => undefined))
  })

  it('signs no other text', async () => {
    const others = {
      'a text for another key': [
        why('approve', text({ ...APPROVAL, kid: 'other' }, { says: 'approved' })),
        why('approve', text({ ...APPROVAL, alg: 'none' }, { says: 'approved' })),
      ],
      'a text of another kind': [
        why('approve', text(PROPOSAL, { says: 'approved' })),
        why('propose', text(APPROVAL, { says: 'approved', title: TITLE })),
        why('block', text({ ...PROPOSAL, typ: 'sallyport-grant' }, {})),
        why('review-access', text(PROPOSAL, REVIEWED)),
        why('publish', text(PROPOSAL, {})),
      ],
      'a text that does not say `rejected`': [why('reject', text(APPROVAL, { says: 'approved' }))],
      'a text with another title': [
        why('propose', text(PROPOSAL, { title: 'another' })),
        why('block', text(PROPOSAL, { title: 'block user:mallory' })),
        why('block', text(PROPOSAL, { title: 'block user:eve: stolen' })),
        why('unblock', text(PROPOSAL, { title: 'block user:m1' })),
      ],
      'a text with another reason': [
        why('reject', text(APPROVAL, { says: 'rejected' })),
        why('reject', text(APPROVAL, { says: 'rejected', reason: 'too little' })),
        why('approve', text(APPROVAL, { says: 'approved', reason: 'what nobody typed' })),
        why('review-access', text(REVIEW, { ...REVIEWED, reason: 'third quarter' })),
      ],
      'a text with another report': [why('review-access', text(REVIEW, { ...REVIEWED, digest: 'd2' }))],
      'a text with another list of what is confirmed': [
        why('review-access', text(REVIEW, { ...REVIEWED, confirmed: '1-4' })),
      ],
      'a text with another list of what is revoked': [
        why('review-access', text(REVIEW, { ...REVIEWED, revoked: undefined })),
      ],
      'a text with another role': [why('break-glass', text(GRANT, { ...GIVEN, role: 'auditor' }))],
      'a text with another person': [why('break-glass', text(GRANT, { ...GIVEN, to: 'eve' }))],
      'a text with another kind of role': [why('break-glass', text(GRANT, { ...GIVEN, kind: 'request' }))],
      'a text with another end': [
        why('break-glass', text(GRANT, { ...GIVEN, until: inHours(2) })),
        why('break-glass', text(GRANT, { ...GIVEN, until: undefined })),
        why('propose', text(PROPOSAL, { title: TITLE, ...WEEK, expires: inHours(1000) })),
      ],
      'a text with another policy.csv': [
        why('propose', text(PROPOSAL, { title: TITLE, ...WEEK, files: { 'policy.csv': digestOfText('q') } })),
        why('propose', text(PROPOSAL, { title: TITLE, ...WEEK, files: undefined })),
      ],
      'a text with another masks.yaml': [
        why(
          'propose',
          text(PROPOSAL, { title: TITLE, ...WEEK, files: { ...WEEK.files, 'masks.yaml': digestOfText('') } }),
        ),
      ],
      'a text with another time than that of this computer': [
        why('approve', text(APPROVAL, { says: 'approved', time: inHours(2) })),
        why('approve', text(APPROVAL, { says: 'approved', time: inHours(-2) })),
        why('approve', text(APPROVAL, { says: 'approved', time: null })),
        // In force later, and as long.
        why('break-glass', text(GRANT, { ...GIVEN, time: inHours(100), until: inHours(101) })),
      ],
      'a text with another finding': [why('review-glass', text(ABOUT, { says: 'reviewed', text: 'nothing' }))],
      'a text with another beginning': [why('propose', text(PROPOSAL, { title: TITLE, notBefore: inHours(5) }))],
      'a text that is not one of a header and a payload': [
        why('approve', ''),
        why('approve', 'e.e'),
        why('approve', text(APPROVAL)),
        why('approve', text(APPROVAL, 'approved')),
        why('approve', text(APPROVAL, { says: 'approved' }, {})),
      ],
    }
    for (const [sentence, answers] of Object.entries(others)) {
      expect(await Promise.all(answers), sentence).to.deep.equal(answers.map(() => sentence))
    }
  })
})
