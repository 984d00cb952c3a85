/** Conditions of a request: where their forms are refused, when they hold, and what they are in words. */
import { writeFile } from 'node:fs/promises'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { credentialKindOf } from '../../src/decide/caller.ts'
import {
  conditionMistakes,
  describeCondition,
  conditionHolds as holds,
  meaningOfCondition,
  parseCondition,
  type RequestCondition,
} from '../../src/decide/request-conditions/all-conditions.ts'
import type { ConditionFacts } from '../../src/decide/request-conditions/condition-kind.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { runs } from '../runs.ts'
import { startTestServer } from '../server.ts'
import { faultsOf as faultsIn } from './diagnostics.ts'
import { RESOURCES } from './fixture.ts'
import { filesOf } from './render.ts'

const NOW = Date.parse('2026-11-20T10:00:00Z')
const MINUTE = 60_000

function conditionOf(form: object): RequestCondition {
  const parsed = parseCondition('named', form, (path, code, message) => {
    throw new Error(`${path.join('/')}: ${message} [${code}]`)
  })
  if (!parsed) throw new Error('it is sound')
  return parsed
}

function faultsOf(form: object): readonly string[] {
  const faults: string[] = []
  const parsed = parseCondition('named', form, (path, code, message, hint) => {
    faults.push(`${path.join('/')}: ${message} (${hint}) [${code}]`)
  })
  expect(parsed, 'a faulty form makes no condition').to.equal(undefined)
  return faults
}

function holdsFor(form: object, facts: Partial<ConditionFacts>): boolean {
  return holds(conditionOf(form), { now: NOW, hasCredentials: true, ...facts })
}

const OFFICE = { network: ['192.0.2.0/24', '2001:db8::/32'] }
const HOURS = { days: 'mon-fri', from: '08:00', to: '18:00', zone: 'Europe/Berlin' }
const FORMS: readonly object[] = [
  OFFICE,
  HOURS,
  { days: 'fri,sun', from: '22:00', to: '04:00', zone: 'UTC' },
  { days: 'sat', from: '00:00', to: '24:00', zone: 'America/New_York' },
  { signedIn: { within: '15m' } },
  { signedIn: { acr: ['urn:example:mfa', 'urn:example:hardware'], within: '2h' } },
  { credential: ['api-key', 'password'] },
]

interface Drawn {
  readonly start: Uint8Array
  readonly bits: number
  readonly address: Uint8Array
}

/** One bit of the address differs from the start of the network, so it is often inside. */
function networkAndAddress(): fc.Arbitrary<Drawn> {
  return fc.constantFrom(4, 16).chain((length) =>
    fc
      .tuple(fc.uint8Array({ minLength: length, maxLength: length }), fc.nat(8 * length), fc.nat(8 * length - 1))
      .map(([bytes, bits, flipped]) => ({
        bits,
        start: bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - 8 * i)))),
        address: bytes.map((byte, i) => (i === flipped >> 3 ? byte ^ (0x80 >> (flipped & 7)) : byte)),
      })),
  )
}

function isAsNodeSays({ start, bits, address }: Drawn, bitsForNode = bits): boolean {
  const [from, at] = [start, address].map((bytes) => ipaddr.fromByteArray([...bytes]).toString()) as [string, string]
  const family = start.length === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(from, bitsForNode, family)
  return holdsFor({ network: [`${from}/${bits}`] }, { address: at }) === list.check(at, family)
}

describe('request conditions: network', () => {
  const cases: readonly [address: string | undefined, expected: boolean][] = [
    ['192.0.2.0', true],
    ['192.0.2.255', true],
    ['192.0.3.0', false],
    ['::ffff:192.0.2.77', true],
    ['::ffff:c000:24d', true],
    ['::ffff:198.51.100.1', false],
    ['2001:db8:1::1', true],
    ['2001:db9::1', false],
    [undefined, false],
    ['', false],
    ['unknown', false],
  ]
  for (const [address, expected] of cases) {
    it(`${address} is ${expected ? 'inside' : 'outside'}`, () => {
      expect(holdsFor(OFFICE, { address })).to.equal(expected)
    })
  }

  it('every IPv4 address is in 0.0.0.0/0, no IPv6 address is, and the other way round', () => {
    expect(holdsFor({ network: ['0.0.0.0/0'] }, { address: '::ffff:1.2.3.4' })).to.equal(true)
    expect(holdsFor({ network: ['0.0.0.0/0'] }, { address: '2001:db8::1' })).to.equal(false)
    expect(holdsFor({ network: ['::/0'] }, { address: '2001:db8::1' })).to.equal(true)
    expect(holdsFor({ network: ['::/0'] }, { address: '192.0.2.1' })).to.equal(false)
  })

  it('text that programs read as different addresses lies in no network', () => {
    for (const address of ['10.0.0.1', '::ffff:10.0.0.1']) {
      expect(holdsFor({ network: ['10.0.0.0/8'] }, { address }), address).to.equal(true)
    }
    for (const address of ['167772161', '010.0.0.1', '012.0.0.1', '0x0a000001', '10.1', '10.0.0.01']) {
      expect(holdsFor({ network: ['0.0.0.0/0'] }, { address }), address).to.equal(false)
    }
  })

  it('an IPv4 network in IPv6 form is that IPv4 network', () => {
    expect(holdsFor({ network: ['::ffff:192.0.2.0/120'] }, { address: '192.0.2.9' })).to.equal(true)
    expect(meaningOfCondition(conditionOf({ network: ['::ffff:192.0.2.0/120'] }))).to.equal(
      meaningOfCondition(conditionOf({ network: ['192.0.2.0/24'] })),
    )
  })

  it('holds exactly where the list of Node does', () => {
    fc.assert(
      fc.property(networkAndAddress(), (drawn) => isAsNodeSays(drawn)),
      { numRuns: runs(300) },
    )
  })

  it('a network of one bit fewer would be found', () => {
    const wrong = fc.property(networkAndAddress(), (drawn) => isAsNodeSays(drawn, Math.max(0, drawn.bits - 1)))
    expect(fc.check(wrong, { numRuns: 2000 }).failed).to.equal(true)
  })

  const faulty: readonly [text: string, fault: string][] = [
    ['192.0.2.7', '`192.0.2.7` is one address, not a network (write `192.0.2.7/32`) [network-form]'],
    ['2001:db8::1', '`2001:db8::1` is one address, not a network (write `2001:db8::1/128`) [network-form]'],
    ['192.0.2.7/24', '`192.0.2.7/24` has bits set behind its 24 network bits (write `192.0.2.0/24`) [network-form]'],
    [
      '2001:db8::1/32',
      '`2001:db8::1/32` has bits set behind its 32 network bits (write `2001:db8::/32`) [network-form]',
    ],
  ]
  for (const [text, fault] of faulty) {
    it(`${text} is refused`, () => {
      expect(faultsOf({ network: ['192.0.2.0/24', text] })).to.deep.equal([`network/1: ${fault}`])
    })
  }
  for (const text of [
    '192.0.2.0/33',
    '10/8',
    '192.0.2.0/024',
    '0300.0.2.0/24',
    'fe80::%eth0/64',
    'office',
    '1.2.3.4/8/8',
  ]) {
    it(`${text} is not a network`, () => {
      expect(faultsOf({ network: [text] })).to.have.length(1)
      expect(faultsOf({ network: [text] })[0]).to.contain(`\`${text}\` is not a network`)
    })
  }
})

describe('request conditions: signedIn', () => {
  const ago = (ms: number) => ({ authTime: NOW - ms })
  const cases: readonly [form: object, facts: Partial<ConditionFacts>, expected: boolean, what: string][] = [
    [{ within: '15m' }, ago(15 * MINUTE), true, 'as old as it may be'],
    [{ within: '15m' }, ago(15 * MINUTE + 1), false, 'a millisecond too old'],
    [{ within: '15m' }, ago(-5000), true, '5 s ahead'],
    [{ within: '15m' }, ago(-5001), false, 'more than 5 s ahead'],
    [{ within: '15m' }, {}, false, 'without a time'],
    [{ within: '1s' }, ago(1000), true, 'a second'],
    [{ within: '1d' }, ago(24 * 60 * MINUTE), true, 'a day'],
    [{ acr: ['a', 'b'] }, { acr: 'b' }, true, 'one of the classes'],
    [{ acr: ['a', 'b'] }, { acr: 'c' }, false, 'another class'],
    [{ acr: ['a', 'b'] }, {}, false, 'without a class'],
    [{ within: '15m', acr: ['a'] }, { ...ago(0), acr: 'a' }, true, 'fresh and strong'],
    [{ within: '15m', acr: ['a'] }, { ...ago(0), acr: 'b' }, false, 'fresh and weak'],
    [{ within: '15m', acr: ['a'] }, { ...ago(60 * MINUTE), acr: 'a' }, false, 'old and strong'],
  ]
  for (const [form, facts, expected, what] of cases) {
    it(`${what}: ${expected ? 'holds' : 'does not hold'}`, () => {
      expect(holdsFor({ signedIn: form }, facts)).to.equal(expected)
    })
  }

  it('a duration that nobody can read is refused in its place', () => {
    expect(faultsOf({ signedIn: { within: '0m' } })).to.deep.equal([
      'signedIn/within: `0m` is not a duration (write it as 90s, 10m, 12h or 30d) [sign-in-age]',
    ])
    expect(faultsOf({ signedIn: { within: '15 minutes' } })).to.have.length(1)
  })
})

describe('request conditions: credential', () => {
  it('holds for the named kinds, and never without credentials', () => {
    const machine = { credential: ['api-key', 'provider'] }
    expect(holdsFor(machine, { credential: 'api-key' })).to.equal(true)
    expect(holdsFor(machine, { credential: 'provider' })).to.equal(true)
    expect(holdsFor(machine, { credential: 'password' })).to.equal(false)
    expect(holdsFor(machine, {})).to.equal(false)
    expect(holdsFor(machine, { credential: 'api-key', hasCredentials: false })).to.equal(false)
  })
})

describe("a caller's kind of credential", () => {
  it('is told by its name in decision records', () => {
    expect(credentialKindOf({})).to.equal('password')
    expect(credentialKindOf({ credential: 'key 01890a5d' })).to.equal('api-key')
    expect(credentialKindOf({ credential: 'issuer https://login.example.com' })).to.equal('provider')
  })
})

describe('request conditions of every kind', () => {
  it('are plain data', () => {
    for (const form of FORMS) {
      const condition = conditionOf(form)
      expect(structuredClone(condition)).to.deep.equal(condition)
      expect(JSON.parse(JSON.stringify(condition))).to.deep.equal(condition)
    }
  })

  it('in words', () => {
    expect(FORMS.map((form) => describeCondition(conditionOf(form)))).to.deep.equal([
      'the address is in 192.0.2.0/24 or 2001:db8::/32',
      'the clock of Europe/Berlin shows 08:00 to 18:00 on mon-fri',
      'the clock of UTC shows 22:00 to 04:00 on fri,sun, over midnight',
      'the clock of America/New_York shows 00:00 to 24:00 on sat',
      'the caller signed in at most 15m ago',
      'the caller signed in at most 2h ago and with urn:example:mfa or urn:example:hardware',
      "the credential is an API key or a token of this server's sign-in",
    ])
  })

  const alike: readonly [object, object][] = [
    [{ network: ['192.0.2.0/24', '2001:db8::/32'] }, { network: ['2001:DB8:0::/32', '192.0.2.0/24', '192.0.2.0/24'] }],
    [HOURS, { ...HOURS, days: 'wed-fri,mon,tue' }],
    [
      { ...HOURS, zone: 'Asia/Kolkata' },
      { ...HOURS, zone: 'Asia/Calcutta' },
    ],
    [
      { ...HOURS, to: '00:00' },
      { ...HOURS, to: '24:00' },
    ],
    [{ signedIn: { within: '60m' } }, { signedIn: { within: '1h' } }],
    [{ signedIn: { acr: ['a', 'b'] } }, { signedIn: { acr: ['b', 'a'] } }],
    [{ credential: ['api-key', 'password'] }, { credential: ['password', 'api-key'] }],
  ]
  it('equal conditions have one meaning, whatever their names', () => {
    for (const [one, other] of alike) {
      const renamed = { ...conditionOf(other), name: 'renamed' }
      expect(meaningOfCondition(renamed)).to.equal(meaningOfCondition(conditionOf(one)))
    }
  })

  it('different conditions have different meanings', () => {
    expect(new Set(FORMS.map((form) => meaningOfCondition(conditionOf(form)))).size).to.equal(FORMS.length)
  })

  it('each mistake is a sound form of another meaning', () => {
    for (const form of FORMS) {
      const condition = conditionOf(form)
      const meanings = conditionMistakes(condition).map((one) => meaningOfCondition(conditionOf(one as object)))
      expect(meanings, JSON.stringify(form)).to.not.be.empty
      expect(meanings).to.not.include(meaningOfCondition(condition))
      expect(new Set(meanings).size).to.equal(meanings.length)
    }
  })
})

describe('conditions.yaml', () => {
  const parsed = (text: string | undefined) =>
    parsePolicy(filesOf(text === undefined ? {} : { 'conditions.yaml': text }), RESOURCES).conditions

  it('may be absent, and may be empty', () => {
    expect(parsed(undefined).size).to.equal(0)
    expect(parsed('').size).to.equal(0)
  })

  it('gives conditions in its order', () => {
    const text = 'strong: { signedIn: { acr: [a] } }\noffice: { network: [192.0.2.0/24] }\n'
    expect([...parsed(text)]).to.deep.equal([
      ['strong', { kind: 'signedIn', name: 'strong', acr: ['a'] }],
      ['office', { kind: 'network', name: 'office', networks: ['192.0.2.0/24'] }],
    ])
  })

  it('with a fault keeps rules from seeming at fault, because it declares names that they use', () => {
    const rules = { 'policy.csv': 'p, everyone, docs, read, office, *, allow\n' }
    expect(faultsIn(rules)).to.deep.equal(['policy.csv:1:26 unknown-relation'])
    expect(faultsIn({ ...rules, 'conditions.yaml': 'office: { network: [office] }\n' })).to.deep.equal([
      'conditions.yaml:1:21 network-form',
    ])
  })

  it('is read while the server runs; with a fault, the policy in force stays', async () => {
    const server = await startTestServer({ demo: true })
    const { policy } = server.app
    const before = policy.active.revision
    const write = async (text: string) => {
      await writeFile(join(server.folder, 'policies/conditions.yaml'), text)
      await policy.reload()
    }
    await write('office: { network: [192.0.2.7/24] }\n')
    expect(policy.faults.map(String).join()).to.contain('conditions.yaml:1:21')
    expect(policy.active.revision).to.equal(before)
    await write('office: { network: [192.0.2.0/24] }\n')
    expect(policy.faults).to.deep.equal([])
    expect(policy.active.revision).not.to.equal(before)
    await server.stop()
  })
})
