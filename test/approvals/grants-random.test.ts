/**
 * Roles for a time, at random: whatever stands in the table of statements, a caller has exactly the roles that the right
 * people have signed for this time. What was meant is drawn first, and judged by plain code.
 */
import { expect } from 'chai'
import fc from 'fast-check'
import { withGrants } from '../../src/decide/caller.ts'
import type { Approvals } from '../../src/decide/policy.ts'
import { personKey } from '../../src/policy/parse/person-key.ts'
import {
  type GrantText,
  grantsInForce,
  readGrants,
  requestText,
  signAboutGrant,
  signGrant,
  withoutPast,
} from '../../src/policy/published/access-grants.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'
import { runs } from '../runs.ts'
import { Person } from './people.ts'

const MINUTE_MS = 60_000
const NOW = Date.parse('2026-12-01T12:00:00Z')
const NAMES = ['ada', 'zoe', 'tim', 'kim', 'eve'] as const
const CALLERS = ['ada', 'u-zoe', 'alice', 'bob'] as const
const ROLES = ['admin', 'support', 'auditor'] as const
type OneOf<T extends readonly unknown[]> = T[number]

/** Eve is in no file. */
const people = new Map(NAMES.map((name) => [name, new Person()]))
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  ada: ['oncall'],
  zoe: ['oncall', 'lead'],
  tim: ['lead'],
  kim: [],
}
const approvals: Approvals = {
  people: new Map(
    Object.entries(GROUPS).map(([name, groups]) => {
      const { kid } = people.get(name as OneOf<typeof NAMES>) as Person
      const x = xOf(people.get(name as OneOf<typeof NAMES>) as Person)
      expect(personKey(x).kid).to.equal(kid)
      return [name, { keys: [personKey(x)], groups, ...(name === 'zoe' && { user: 'u-zoe' }) }]
    }),
  ),
  widens: { people: 1 },
  narrows: { people: 1 },
  blocks: { people: 1 },
  touches: [],
  breakGlass: { from: ['oncall'], roles: ['admin'], forMs: 60 * MINUTE_MS, reviewMs: 1 },
  requests: new Map([
    ['support', { people: 1, from: ['lead'], forMs: 120 * MINUTE_MS }],
    ['auditor', { people: 2, forMs: 60 * MINUTE_MS }],
  ]),
}

function xOf({ publicKey }: Person): string {
  return Buffer.from(publicKey.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
    .subarray(-32)
    .toString('base64url')
}

interface Meant {
  readonly kind: GrantText['kind']
  readonly by: OneOf<typeof NAMES> | undefined
  readonly to: OneOf<typeof CALLERS>
  readonly role: OneOf<typeof ROLES>
  readonly database: 'here' | 'elsewhere'
  /** Minutes: since it was made, and how long it lasts. */
  readonly since: number
  readonly lasts: number
  readonly said: readonly { readonly by: OneOf<typeof NAMES>; readonly says: 'approved' | 'revoked' | 'reviewed' }[]
  /** What somebody changed afterwards in the stored text. */
  readonly bent: 'role' | 'until' | undefined
}

/** Most draws are as somebody means them: those that count must be frequent. */
function often<const T>(value: T, times: number): readonly T[] {
  return Array.from({ length: times }, () => value)
}

const meant: fc.Arbitrary<Meant> = fc.record({
  kind: fc.constantFrom('break-glass', 'request'),
  by: fc.constantFrom(...NAMES, undefined),
  to: fc.constantFrom(...CALLERS),
  role: fc.constantFrom(...ROLES),
  database: fc.constantFrom(...often('here', 7), 'elsewhere'),
  since: fc.constantFrom(...often(0, 5), ...often(10, 5), -30, -180, 50, 100),
  lasts: fc.constantFrom(...often(60, 5), 30, 120, 180),
  said: fc.array(
    fc.record({
      by: fc.constantFrom(...NAMES),
      says: fc.constantFrom('approved', 'approved', 'approved', 'revoked', 'reviewed'),
    }),
    { maxLength: 4 },
  ),
  bent: fc.constantFrom(...often(undefined, 9), 'role', 'until'),
})

/** By plain code, from what was meant. */
function counts({ kind, by, to, role, database, since, lasts, said, bent }: Meant): boolean {
  // A changed text has lost its signature; one without a signature is another request, which nobody has approved.
  if (database !== 'here' || since < -120 || since >= lasts || bent !== undefined) return false
  if (by === 'eve' || said.some((one) => one.says === 'revoked' && one.by !== 'eve')) return false
  if (kind === 'break-glass') return (by === 'ada' || by === 'zoe') && role === 'admin' && lasts <= 60
  const approvers = said
    .filter((one) => one.says === 'approved' && one.by !== 'eve' && one.by !== by)
    .map((one) => one.by)
  const others = new Set(
    approvers.filter((name) => !(name === 'ada' && to === 'ada') && !(name === 'zoe' && to === 'u-zoe')),
  )
  if (role === 'support') return lasts <= 120 && (others.has('zoe') || others.has('tim'))
  return role === 'auditor' && lasts <= 60 && others.size >= 2
}

const texts = new Map<string, Promise<readonly string[]>>()

/** The texts that stand in the table: the grant, and what was said about it. */
function textsOf(one: Meant, place: number): Promise<readonly string[]> {
  return texts.getOrInsertComputed(JSON.stringify([one, place]), () => written(one, place))
}

async function written({ kind, by, to, role, database, since, lasts, said, bent }: Meant, place: number) {
  const timeOf = (minutes: number) => new Date(NOW + minutes * MINUTE_MS).toISOString()
  const grant = { kind, database, role, to, reason: `${place}`, time: timeOf(-since), until: timeOf(lasts - since) }
  const signer = by && people.get(by)
  const text = signer ? await signGrant(grant, signer) : requestText({ ...grant, kind: 'request' })
  const words = said.map((one) => {
    const about = { of: digestOfText(text), says: one.says, text: 'x', time: timeOf(0) }
    return signAboutGrant(about, people.get(one.by) as Person)
  })
  const other =
    bent === 'role' ? { ...grant, role: role === 'admin' ? 'support' : 'admin' } : { ...grant, until: timeOf(59) }
  return [bent === undefined ? text : bentText(text, other), ...(await Promise.all(words))]
}

function bentText(text: string, grant: unknown): string {
  if (text.startsWith('{')) return JSON.stringify({ ...(grant as object), kind: 'request' })
  const [head, , signature] = text.split('.')
  return [head, Buffer.from(JSON.stringify(grant)).toString('base64url'), signature].join('.')
}

/** An unsigned break-glass can't be written at all: it is a request. */
const drawn = fc.array(
  meant.map((one) => (one.by === undefined ? { ...one, kind: 'request' as const } : one)),
  { maxLength: 5 },
)

describe('roles for a time, at random', () => {
  const world = { approvals, database: 'here', now: NOW }

  it('are exactly those that the right people have signed for this time', async () => {
    const seen = { counting: 0, not: 0 }
    const property = fc.asyncProperty(drawn, fc.array(fc.nat(), { maxLength: 3 }), async (all, repeated) => {
      const stored = (await Promise.all(all.map(textsOf))).flat()
      const rows = [...stored, ...repeated.flatMap((at) => stored[at % Math.max(1, stored.length)] ?? [])]
      const statements = rows.map((signed, i) => ({ number: i + 1, signed }))
      const expected = (id: string) =>
        new Set(all.filter((one) => one.to === id && counts(one)).map(({ role }) => role))
      for (const kept of [statements, withoutPast(statements, NOW)]) {
        const grants = grantsInForce(readGrants(kept, world))
        for (const id of CALLERS) {
          const { roles } = withGrants({ id, roles: [], claims: {} }, grants, NOW)
          expect(new Set(roles), id).to.deep.equal(expected(id))
          seen[roles.length > 0 ? 'counting' : 'not'] += 1
        }
      }
    })
    await fc.assert(property, { numRuns: runs(3000, 300) })
    expect(seen.counting).to.be.greaterThan(8)
    expect(seen.not).to.be.greaterThan(50)
  })

  it('end at their end, and never come back while time goes on', async () => {
    const property = fc.asyncProperty(drawn, fc.nat({ max: 200 }), async (all, minutes) => {
      const statements = (await Promise.all(all.map(textsOf))).flat().map((signed, i) => ({ number: i + 1, signed }))
      const later = NOW + minutes * MINUTE_MS
      const grants = grantsInForce(readGrants(statements, world))
      for (const one of all) {
        const { roles } = withGrants({ id: one.to, roles: [], claims: {} }, grants, later)
        const still = all.some(
          (it) => it.to === one.to && it.role === one.role && counts(it) && it.lasts - it.since > minutes,
        )
        expect(roles.includes(one.role)).to.equal(still)
      }
    })
    await fc.assert(property, { numRuns: runs(2000, 200) })
  })

  it('a judge who leaves out a check would be found', async () => {
    const own: Meant = { ...ONE, to: 'u-zoe', said: [{ by: 'zoe', says: 'approved' }] }
    const other: Meant = { ...ONE, to: 'alice', said: [{ by: 'zoe', says: 'approved' }] }
    expect([own, other].map(counts)).to.deep.equal([false, true])
    const careless = {
      ...approvals,
      people: new Map([...approvals.people].map(([name, one]) => [name, { ...one, user: '' }])),
    }
    const statements = (await textsOf(own, 0)).map((signed, i) => ({ number: i + 1, signed }))
    expect(grantsInForce(readGrants(statements, { ...world, approvals: careless })).size).to.equal(1)
    expect(grantsInForce(readGrants(statements, world)).size).to.equal(0)
  })
})

const ONE: Meant = {
  kind: 'request',
  by: undefined,
  to: 'alice',
  role: 'support',
  database: 'here',
  since: 0,
  lasts: 60,
  said: [],
  bent: undefined,
}
