/** Roles for a time: rows that somebody else wrote in the database break nothing, and give nothing. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Approvals } from '../../src/decide/policy.ts'
import { personKey } from '../../src/policy/parse/person-key.ts'
import {
  type GrantText,
  grantsInForce,
  LONGEST_GRANT_TEXT,
  readGrants,
  signAboutGrant,
  signGrant,
  withoutPast,
} from '../../src/policy/published/access-grants.ts'
import { claimedProposal, readApproval, readProposal } from '../../src/policy/published/proposal.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'
import { runs } from '../runs.ts'
import { Person } from './people.ts'

const NOW = Date.parse('2026-12-01T12:00:00Z')
const time = (hours: number) => new Date(NOW + hours * 3_600_000).toISOString()
const ada = new Person()
const x = Buffer.from(ada.publicKey.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64').subarray(-32)
const approvals: Approvals = {
  people: new Map([['ada', { keys: [personKey(x.toString('base64url'))], groups: ['oncall'] }]]),
  widens: { people: 1 },
  narrows: { people: 1 },
  blocks: { people: 1 },
  touches: [],
  breakGlass: { from: ['oncall'], roles: ['admin'], forMs: 3_600_000, reviewMs: 999_999 * 86_400_000 },
  requests: new Map([['support', { people: 1, forMs: 3_600_000 }]]),
}
const world = { approvals, database: 'here', now: NOW }
const GRANT: GrantText = {
  kind: 'break-glass',
  database: 'here',
  role: 'admin',
  to: 'alice',
  reason: 'x',
  time: time(0),
  until: time(1),
}

/** JSON that no command writes; the last ones are no text, and can't be made one. */
const odd = fc.constantFrom(
  'null',
  '-1e999',
  '{}',
  '[]',
  '"__proto__"',
  '"\\u001b[31m"',
  '"\\ud800"',
  '"+275760-09-13T00:00:00.000Z"',
  '"-271821-04-20T00:00:00.000Z"',
  '"9999-12-31T23:59:59.999Z"',
  '"2026-12-01"',
  `"${'x'.repeat(LONGEST_GRANT_TEXT)}"`,
  '{"toString":1,"valueOf":1}',
  `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
)
const encoded = (text: string) => Buffer.from(text).toString('base64url')
const SIGNATURE = 'A'.repeat(86)

/** A JSON object of which some members are odd. */
function bent(whole: Readonly<Record<string, unknown>>): fc.Arbitrary<string> {
  const members = Object.entries(whole).map(([name, value]) =>
    fc
      .oneof({ weight: 4, arbitrary: fc.constant(JSON.stringify(value)) }, { weight: 1, arbitrary: odd })
      .map((text) => `${JSON.stringify(name)}:${text}`),
  )
  return fc.tuple(...members).map((all) => `{${all.join()}}`)
}

const header = fc
  .constantFrom('sallyport-grant', 'sallyport-about-grant', 'sallyport-proposal', 'sallyport-approval')
  .chain((typ) => bent({ alg: 'EdDSA', kid: ada.kid, typ }))
const payload = fc.oneof(
  bent({ ...GRANT }),
  bent({ of: 'x', says: 'approved', text: 'x', time: time(0) }),
  bent({ of: 'x', says: 'rejected', text: 'x', time: time(0) }),
  odd,
)
const row = fc.oneof(
  fc.tuple(header, payload).map(([head, body]) => `${encoded(head)}.${encoded(body)}.${SIGNATURE}`),
  bent({ ...GRANT, kind: 'request' }),
  odd,
  fc.string(),
)

describe('rows that somebody else wrote', () => {
  it('are read as nothing that counts, whatever they say, and hide no true one', async () => {
    const real = await signGrant({ ...GRANT, to: 'carol' }, ada)
    const property = fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
      const statements = [...rows, real].map((signed, i) => ({ number: i + 1, signed }))
      for (const all of [statements, withoutPast(statements, NOW)]) {
        expect([...grantsInForce(readGrants(all, world)).keys()]).to.deep.equal(['carol'])
      }
      for (const text of rows) {
        claimedProposal(text)
        expect([readProposal(text, approvals), readApproval(text, { proposal: 'x', approvals })]).to.deep.equal([
          undefined,
          undefined,
        ])
      }
    })
    fc.assert(property, { numRuns: runs(3000, 500) })
  })

  it('are forgotten by an instance if they are longer than any that commands write', () => {
    const request = (reason: string) => JSON.stringify({ ...GRANT, kind: 'request', reason })
    const rows = [request('x'), request('x'.repeat(LONGEST_GRANT_TEXT))].map((signed, i) => ({ number: i + 1, signed }))
    expect(withoutPast(rows, NOW).map(({ number }) => number)).to.deep.equal([1])
    expect(readGrants(rows, world).map(({ number }) => number)).to.deep.equal([1])
  })

  it('count once, however often they are repeated, and in any order', async () => {
    const grant = await signGrant(GRANT, ada)
    const about = await signAboutGrant({ of: digestOfText(grant), says: 'revoked', time: time(0) }, ada)
    const rows = [about, grant, about, about].map((signed, i) => ({ number: i + 1, signed }))
    const kept = withoutPast(rows, NOW)
    expect(kept.map(({ signed }) => signed)).to.deep.equal([about, grant])
    expect(readGrants(kept, world)[0]?.state).to.equal('revoked')
  })
})
