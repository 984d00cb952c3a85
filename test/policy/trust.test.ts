/** What an asking service may assert: which entry of callers.yaml counts, and what several entries give together. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  actionNamed,
  type CallerEntries,
  DEFAULT_TRUST,
  gatewayAt,
  type Trust,
  trustOf,
} from '../../src/decide/grants/trust.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import schema from '../../src/policy/schemas/callers.schema.json' with { type: 'json' }
import { gatewayRoutes } from '../../src/resources/built-in/access.ts'
import { runs } from '../runs.ts'
import { RESOURCES } from './fixture.ts'
import { filesOf } from './render.ts'

const ROLES = ['gateway', 'crm', 'member', 'admin']
const CONDITIONS = 'soft: { asserted: true }\noffice: { network: [192.0.2.0/24] }\n'

function entriesOf(callers: string): CallerEntries {
  const roles = ROLES.map((role) => `${role}: { description: The ${role}. }\n`).join('')
  return parsePolicy(
    filesOf({ 'roles.yaml': roles, 'conditions.yaml': CONDITIONS, 'callers.yaml': callers }),
    RESOURCES,
  ).callers
}

function trusted(callers: string, roles: readonly string[], id = 'service'): Trust {
  return trustOf(entriesOf(callers), { caller: { id }, roles: new Set(roles) })
}

describe('what an asking service may assert', () => {
  it('is nothing without an entry: people of the directory, objects of the store', () => {
    expect(trusted('crm: { fields: understood, resources: { docs: asserted } }\n', ['gateway'])).to.equal(DEFAULT_TRUST)
    expect(DEFAULT_TRUST.subjects).to.deep.equal(new Map([['user', { kind: 'directory' }]]))
    expect([...DEFAULT_TRUST.assertedResources, ...DEFAULT_TRUST.conditions]).to.deep.equal([])
  })

  it('is what its entry says, and the default for what the entry leaves out', () => {
    const { subjects, assertedResources, understandsFields } = trusted('crm: { fields: understood }\n', ['crm'])
    expect({ subjects, assertedResources, understandsFields }).to.deep.equal({
      ...DEFAULT_TRUST_PARTS,
      understandsFields: true,
    })
  })

  it('is what user:<id> says alone, where that entry exists', () => {
    const callers = '"user:a": { fields: understood }\ncrm: { resources: { docs: asserted } }\n'
    expect(trusted(callers, ['crm'], 'a').assertedResources).to.deep.equal(new Set())
    expect(trusted(callers, ['crm'], 'b').assertedResources).to.deep.equal(new Set(['docs']))
  })

  it('is what each entry gives, where several roles have one', () => {
    const callers = `
crm:
  subjects: { user: directory, guest: { asserted: [member, admin] }, badge: token }
  resources: { docs: asserted, jobs: asserted }
  actions: { "*": { can_read: read, GET: read } }
  conditions: { soft: action.soft }
  fields: understood
gateway:
  subjects: { user: token, guest: { asserted: [member] } }
  resources: { docs: asserted }
  actions: { "*": { can_read: read, GET: list } }
  conditions: { soft: context.soft }
  profiles: [nginx]
`
    expect(trusted(callers, ['crm', 'gateway'])).to.deep.equal({
      subjects: new Map<string, unknown>([
        ['user', { kind: 'token' }],
        ['guest', { kind: 'asserted', roles: new Set(['member']) }],
      ]),
      assertedResources: new Set(['docs']),
      understandsFields: false,
      aliases: new Map([['*', new Map([['can_read', 'read']])]]),
      conditions: new Map(),
      profiles: new Set(['nginx']),
    })
  })

  it('never grows by another entry, whatever the entries are', () => {
    fc.assert(
      fc.property(fc.array(randomEntry, { minLength: 1, maxLength: 3 }), (entries) => {
        const callers = entries.map((entry, i) => `${ROLES[i]}: ${JSON.stringify(entry)}\n`).join('')
        const roles = ROLES.slice(0, entries.length)
        const all = trusted(callers, roles)
        for (const role of roles) expect(beyond(all, trusted(callers, [role]))).to.deep.equal([])
      }),
      { numRuns: runs(120) },
    )
  })

  it('has no name for an action about which two entries differ, in whichever place they say it', () => {
    const callers =
      'crm: { actions: { "*": { GET: read } } }\ngateway: { actions: { "*": { GET: read }, docs: { GET: list } } }\n'
    const trust = trusted(callers, ['crm', 'gateway'])
    expect(['docs', 'jobs'].map((resource) => actionNamed(trust, resource, 'GET'))).to.deep.equal(['GET', 'GET'])
    const alike = 'crm: { actions: { docs: { GET: read } } }\ngateway: { actions: { "*": { GET: read } } }\n'
    expect(actionNamed(trusted(alike, ['crm', 'gateway']), 'docs', 'GET')).to.equal('read')
  })

  it('would grow if the last entry counted: the property sees it', () => {
    const callers = 'crm: { resources: { docs: asserted } }\ngateway: { subjects: { user: { asserted: [admin] } } }\n'
    const [one, other] = [trusted(callers, ['crm']), trusted(callers, ['gateway'])]
    expect(beyond(one, other)).to.deep.equal(['docs'])
    expect(beyond(other, one)).to.deep.equal(['user'])
  })

  it('names actions by the aliases of the resource, then by those of all, then as they are called', () => {
    const callers = 'crm: { actions: { "*": { GET: read, look: list }, docs: { GET: peek } } }\n'
    const trust = trusted(callers, ['crm'])
    const named = ['GET', 'look', 'read', 'other'].map((name) => actionNamed(trust, 'docs', name))
    expect(named).to.deep.equal(['peek', 'list', 'read', 'other'])
    expect(actionNamed(trust, 'jobs', 'GET')).to.equal('read')
    expect(actionNamed(DEFAULT_TRUST, 'docs', 'GET')).to.equal('GET')
  })

  it('knows the profiles that the server has routes for, and no others', () => {
    const routes = gatewayRoutes('system/access', 'forward').flatMap(({ gateway }) => gateway?.name ?? [])
    expect(schema.$defs.caller.properties.profiles.items.enum).to.deep.equal(routes)
  })

  it('finds the gateway of a socket address, and no other', () => {
    const entries = entriesOf('gateway: { addresses: [10.0.0.0/8, "fd00::/8"], profiles: [nginx] }\ncrm: {}\n')
    expect(gatewayAt(entries, '10.1.2.3')?.name).to.equal('gateway')
    expect(gatewayAt(entries, '::ffff:10.1.2.3')?.name).to.equal('gateway')
    expect(gatewayAt(entries, 'fd00::1')?.name).to.equal('gateway')
    for (const address of ['11.0.0.1', '::1', 'nonsense', '']) expect(gatewayAt(entries, address)).to.equal(undefined)
  })
})

const DEFAULT_TRUST_PARTS = { subjects: DEFAULT_TRUST.subjects, assertedResources: DEFAULT_TRUST.assertedResources }

const randomEntry = fc.record(
  {
    subjects: fc.dictionary(
      fc.constantFrom('user', 'guest', 'badge'),
      fc.oneof(
        fc.constantFrom('directory', 'token'),
        fc.record({ asserted: fc.uniqueArray(fc.constantFrom(...ROLES), { maxLength: 3 }) }),
      ),
      { minKeys: 1 },
    ),
    resources: fc.dictionary(fc.constantFrom('docs', 'jobs'), fc.constantFrom('stored', 'asserted')),
    fields: fc.constant('understood'),
    actions: fc.dictionary(
      fc.constantFrom('*', 'docs'),
      fc.dictionary(fc.constantFrom('GET', 'can_read'), fc.constantFrom('read', 'list')),
    ),
    conditions: fc.dictionary(fc.constantFrom('soft', 'office'), fc.constantFrom('context.a', 'action.a')),
    profiles: fc.subarray(['nginx', 'caddy']),
  },
  { requiredKeys: [] },
)

/** What the first trust gives and the second doesn't. */
function beyond(one: Trust, other: Trust): readonly string[] {
  const rank = ['token', 'directory', 'asserted']
  const subjects = [...one.subjects].filter(([type, source]) => {
    const there = other.subjects.get(type)
    if (!there || rank.indexOf(source.kind) > rank.indexOf(there.kind)) return true
    return source.kind === 'asserted' && there.kind === 'asserted' && !source.roles.isSubsetOf(there.roles)
  })
  const told = [...one.conditions].filter(([name, { in: place }]) => other.conditions.get(name)?.in !== place)
  const aliases = ['docs', 'jobs'].flatMap((resource) =>
    ['GET', 'can_read'].flatMap((alias) => {
      const action = actionNamed(one, resource, alias)
      return action === alias || action === actionNamed(other, resource, alias) ? [] : [[alias]]
    }),
  )
  const fields = one.understandsFields && !other.understandsFields ? ['fields'] : []
  const profiles = other.profiles && !one.profiles?.isSubsetOf(other.profiles) ? ['profiles'] : []
  const named = [...subjects, ...told, ...aliases].map(([name]) => name)
  return [...named, ...one.assertedResources.difference(other.assertedResources), ...fields, ...profiles]
}
