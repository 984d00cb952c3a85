/** Whom a change of the policy asks: edits of the shipped policy, as somebody makes them who wants to ask fewer. */
import { expect } from 'chai'
import fc from 'fast-check'
import { type FoundNeed, needSentence, needsOf, unmetNeeds } from '../../src/analysis/approvals/needs.ts'
import { type Edits, edited, resources } from '../review/diff/shipped.ts'
import { runs } from '../runs.ts'
import { askingFor, groupsOf } from './asking.ts'

const APPROVALS = askingFor(['orders', 'notes', 'users'], ['roles.yaml', 'policy.csv', 'approvals.yaml', 'blocked.txt'])
const FILES = ['roles-yaml', 'policy-csv', 'approvals-yaml', 'blocked-txt']

/** With the needs of files left out. */
function asked(edits: Edits, first: Edits = {}): readonly string[] {
  return groupsOf(needs(edits, first)).filter((group) => !FILES.includes(group))
}

function needs(edits: Edits, first: Edits = {}): readonly FoundNeed[] {
  const withApprovals = (all: Edits): Edits => ({ 'approvals.yaml': [['', APPROVALS]], ...all })
  return needsOf({ before: edited(withApprovals(first)), after: edited(withApprovals(edits)) }, resources)
}

const line = (...lines: readonly string[]): Edits => ({ 'policy.csv': [['', lines.join('\n')]] })
const roles = (...lines: readonly string[]): Edits[string] => [['', lines.join('\n')]]
const two = 'trusted:\n  description: A\nother:\n  description: B'
const apart = (...names: readonly string[]): Edits[string] => [['', `- { name: apart, roles-apart: [${names}] }`]]
const limit = (text: string): Edits => ({ 'limits.yaml': [['', `  extra: ${text}`]] })

/** By what somebody does: whom it asks, the edits, and those of the version before. */
const CASES: Readonly<Record<string, readonly [asked: string, edits: Edits, first?: Edits]>> = {
  'changes nothing': ['', {}],
  'allows something': ['notes widens', line('p, member, notes, list, any, *, allow')],
  'denies something': ['narrows notes', line('p, member, notes, list, any, *, deny')],
  'allows something and denies something': [
    'narrows notes orders widens',
    line('p, member, notes, list, any, *, deny', 'p, member, orders, delete, any, *, allow'),
  ],
  'blocks a user': ['blocks', { 'blocked.txt': [['', 'user:eve']] }],
  'unblocks a user': ['widens', {}, { 'blocked.txt': [['', 'user:eve']] }],
  'shortens a block': [
    'widens',
    { 'blocked.txt': [['', 'user:eve until=2030-01-01T00:00:00Z']] },
    { 'blocked.txt': [['', 'user:eve']] },
  ],
  'shortens a block to the past': [
    'widens',
    { 'blocked.txt': [['', 'user:eve until=2020-01-01T00:00:00Z']] },
    { 'blocked.txt': [['', 'user:eve']] },
  ],
  'allows what has ended': ['notes widens', line('p, member, notes, list, any, *, allow, until=2020-01-01T00:00:00Z')],
  'allows for longer what has ended': [
    'notes widens',
    line('p, member, notes, list, any, *, allow, until=2090-01-01T00:00:00Z'),
    line('p, member, notes, list, any, *, allow, until=2020-01-01T00:00:00Z'),
  ],
  'takes a deny away that begins to matter when another ends': [
    'notes widens',
    line('p, member, notes, read, owner, *, deny, until=2030-01-01T00:00:00Z'),
    line(
      'p, member, notes, read, owner, *, deny, until=2030-01-01T00:00:00Z',
      'p, member, notes, read, owner, *, deny',
    ),
  ],
  'lets a deny end': [
    'notes widens',
    line('p, member, notes, read, owner, *, deny, until=2090-01-01T00:00:00Z'),
    line('p, member, notes, read, owner, *, deny'),
  ],

  // ---- What means the same still asks somebody: no change is published by its author alone.
  'writes a comment': ['narrows', line('# nothing')],
  'writes a comment that hides a later warning': ['narrows', line('# check-ignore self-grant: as agreed')],
  'writes a comment in blocked.txt': ['blocks', { 'blocked.txt': [['', '# nothing']] }],
  'writes a comment beside a block': ['blocks narrows', { ...line('# nothing'), 'blocked.txt': [['', 'user:eve']] }],
  'writes a comment in guarantees.yaml': ['widens', { 'guarantees.yaml': [['', '# nothing']] }],
  'repeats a rule': ['narrows', line('p, member, notes, list, owner, *, allow')],
  'declares a role': ['narrows', { 'roles.yaml': roles(two) }],
  'lowers the page that a list shows by itself': ['narrows', { 'limits.yaml': [['default: 50', 'default: 20']] }],

  // ---- What changes no decision, but what people see, or what later versions may.
  'takes a guarantee away': [
    'users widens',
    {
      'guarantees.yaml': [
        [
          '- name: nobody changes a user without credentials\n  never: { subjects: [anonymous], resource: users, actions: [update] }\n',
          '',
        ],
      ],
    },
  ],
  'takes a ratchet away': [
    'orders widens',
    {},
    { 'guarantees.yaml': [['', '- { name: orders, ratchet: { resource: orders, never: widen } }']] },
  ],
  'hides a field in records': ['orders widens', { 'masks.yaml': [['', 'facts: { orders: [status] }']] }],
  'changes where events are sent': ['widens', { 'subscriptions.yaml': [['', '{}']] }],
  'shows a field in records': ['widens', {}, { 'masks.yaml': [['', 'fields: [address]']] }],
  'marks a role as not privileged': [
    'widens',
    { 'roles.yaml': roles('trusted:\n  description: A') },
    { 'roles.yaml': roles('trusted:\n  description: A\n  privileged: true') },
  ],
  'changes who may approve': ['widens', { 'approvals.yaml': [['', APPROVALS.replace('people: 1', 'people: 0')]] }],
  'gives an approver one more key, and a narrowing beside it': [
    'narrows notes widens',
    { ...line('p, member, notes, list, any, *, deny'), 'approvals.yaml': [['', `${APPROVALS}# `]] },
  ],

  // ---- Guarantees whose text stays, but whose words mean something else.
  'makes a relation wider that only a guarantee names': [
    'orders widens',
    { 'ownership.yaml': [['    open: {', '    odd: { field: status, present: true }\n    open: {']], ...unless('odd') },
    {
      'ownership.yaml': [['    open: {', '    odd: { field: status, in: [cancelled] }\n    open: {']],
      ...unless('odd'),
    },
  ],
  'makes a relation wider through its parts': [
    'orders widens',
    { 'ownership.yaml': [['    open: {', '    odd: { any: [cancelled, shipped] }\n    open: {']], ...unless('odd') },
    { 'ownership.yaml': [['    open: {', '    odd: { any: [cancelled] }\n    open: {']], ...unless('odd') },
  ],
  'makes a condition wider that only a guarantee names': [
    'notes orders users widens',
    { 'conditions.yaml': [['', 'office: { network: [10.0.0.0/8] }']], ...unless('office') },
    { 'conditions.yaml': [['', 'office: { network: [10.0.0.0/16] }']], ...unless('office') },
  ],

  // ---- Roles that no rule names.
  'gives a role the trust of another by inheritance': [
    'narrows notes orders users widens',
    { ...line('g, pdp-client, trusted'), 'roles.yaml': roles(two), 'callers.yaml': trust() },
    { 'roles.yaml': roles(two), 'callers.yaml': trust() },
  ],
  'takes a bound of trust away by inheritance': [
    'narrows notes orders users widens',
    { 'roles.yaml': roles(two), 'callers.yaml': [['', 'trusted: { subjects: { user: token } }']] },
    {
      ...line('g, pdp-client, trusted'),
      'roles.yaml': roles(two),
      'callers.yaml': [['', 'trusted: { subjects: { user: token } }']],
    },
  ],
  'lets people have together what is kept apart': [
    'narrows notes orders users widens',
    { 'roles.yaml': roles(two), 'guarantees.yaml': apart('trusted', 'auditor') },
    { ...line('g, member, trusted'), 'roles.yaml': roles(two), 'guarantees.yaml': apart('trusted', 'auditor') },
  ],
  'makes a role with denies count for nobody': [
    'narrows notes orders users widens',
    { ...line('g, auditor, trusted'), 'roles.yaml': roles(two), 'guarantees.yaml': apart('trusted', 'other') },
    { 'roles.yaml': roles(two), 'guarantees.yaml': apart('trusted', 'other') },
  ],
  'lets more people have a role': [
    'narrows notes orders users widens',
    { 'roles.yaml': roles(two), 'guarantees.yaml': [['', '- { name: few, at-most: { role: trusted, people: 2 } }']] },
    {
      ...line('g, member, trusted'),
      'roles.yaml': roles(two),
      'guarantees.yaml': [['', '- { name: few, at-most: { role: trusted, people: 2 } }']],
    },
  ],
  'takes somebody out of a guarantee': [
    'narrows notes orders users widens',
    { ...line('g, auditor, trusted'), 'roles.yaml': roles(two), 'guarantees.yaml': except() },
    { 'roles.yaml': roles(two), 'guarantees.yaml': except() },
  ],
  'takes a claim away that gives a role with denies': [
    'narrows notes orders users widens',
    {},
    {
      'roles.yaml': [
        [
          'auditor:\n  description: Sees everything, changes nothing.\n',
          'auditor:\n  description: Sees everything, changes nothing.\n  claims: [auditors]\n',
        ],
      ],
    },
  ],
  'trusts a service less, which may be asked about as somebody else': [
    'narrows notes orders users widens',
    { 'callers.yaml': [['', 'pdp-client: { subjects: { user: token } }']] },
    { 'callers.yaml': [['', 'pdp-client: { subjects: { user: directory } }']] },
  ],

  // ---- Limits.
  'raises a limit': ['widens', { 'limits.yaml': [['allow: 300', 'allow: 301']] }],
  'adds a limit': ['narrows', limit('{ per: address, allow: 1, window: 1h }')],
  'takes a limit of a resource away': [
    'orders widens',
    {},
    limit('{ per: subject, allow: 1, window: 1h, match: { resource: orders } }'),
  ],
  'no longer counts a role for a resource': [
    'narrows notes orders users widens',
    {
      ...limit('{ per: subject, allow: 1, window: 1h, match: { resource: orders, role: member } }'),
      'policy.csv': [['g, support, member\n', '']],
    },
    limit('{ per: subject, allow: 1, window: 1h, match: { resource: orders, role: member } }'),
  ],
  'renames a limit, so that it counts anew': ['widens', { 'limits.yaml': [['bad-credentials:', 'guesses:        ']] }],
  'no longer counts a role': ['narrows notes orders users widens', { 'policy.csv': [['g, support, member\n', '']] }],

  // ---- What opens one resource by way of another.
  'lets people write their own roles': [
    'notes orders users widens',
    { 'views.yaml': [['personal: [', 'personal: [roles, ']] },
  ],
  'lets people write another field of their own': [
    'users widens',
    { 'views.yaml': [['personal: [', 'personal: [department, ']] },
  ],
  'lets people write an attribute that a relation compares': [
    'orders users widens',
    {
      'views.yaml': [['personal: [', 'personal: [department, ']],
      'ownership.yaml': [
        ['    owner: customerId', '    owner: customerId\n    team: { field: note, equals: subject.department }'],
      ],
    },
    {
      'ownership.yaml': [
        ['    owner: customerId', '    owner: customerId\n    team: { field: note, equals: subject.department }'],
      ],
    },
  ],
  'lets people write the objects that a relation looks at': [
    'notes orders widens',
    { ...line('p, member, notes, update, any, *, allow'), 'ownership.yaml': [through()] },
    { 'ownership.yaml': [through()] },
  ],
  'lets people write the objects that those objects look at': [
    'notes orders widens',
    { ...line('p, member, accounts, update, any, *, allow'), 'ownership.yaml': [through(), alongAccounts()] },
    { 'ownership.yaml': [through(), alongAccounts()] },
  ],
  'makes more people owners of the objects that a relation looks at': [
    'narrows notes orders widens',
    { 'ownership.yaml': [through(), ['    owner: ownerId', '    owner: body']] },
    { 'ownership.yaml': [through()] },
  ],
  'narrows the objects that a relation looks at': [
    'narrows notes',
    { ...line('p, member, notes, update, any, *, deny'), 'ownership.yaml': [through()] },
    { 'ownership.yaml': [through()] },
  ],
  'changes what a relation of other objects means': [
    'narrows notes orders widens',
    {
      ...line('p, member, orders, delete, noted, *, allow'),
      'ownership.yaml': [through(), ['    owner: ownerId', '    owner: body']],
    },
    { ...line('p, member, orders, delete, noted, *, allow'), 'ownership.yaml': [through()] },
  ],
}

function unless(term: string): Edits {
  return {
    'guarantees.yaml': [
      ['', `- { name: said, never: { subjects: [auditor], resource: orders, actions: [delete], unless: ${term} } }`],
    ],
  }
}

function except(): Edits[string] {
  return [
    [
      '',
      '- { name: said, never: { subjects: { except: [trusted, admin, support, member] }, resource: notes, actions: [delete] } }',
    ],
  ]
}

function trust(): Edits[string] {
  return [['', 'trusted: { subjects: { user: { asserted: [member] } } }']]
}

function through(): readonly [string, string] {
  return ['    owner: customerId', '    owner: customerId\n    noted: { through: note, to: notes, relation: owner }']
}

function alongAccounts(): readonly [string, string] {
  return ['    owner: ownerId', '    owner: ownerId\n    paid: { through: title, to: accounts, relation: owner }']
}

describe('a change of the policy', () => {
  for (const [what, [groups, edits, first]] of Object.entries(CASES)) {
    it(`that ${what} asks ${groups || 'nobody'}`, () => {
      expect(asked(edits, first).join(' ')).to.equal(groups)
    })
  }

  it('asks for each file that it touches, also in its comments alone', () => {
    const filesIn = (edits: Edits) => groupsOf(needs(edits)).filter((group) => FILES.includes(group))
    expect(filesIn(line('# nothing'))).to.deep.equal(['policy-csv'])
    expect(filesIn({ 'roles.yaml': [['', '# nothing']], 'blocked.txt': [['', '# x']] })).to.deep.equal([
      'blocked-txt',
      'roles-yaml',
    ])
    expect(filesIn({ 'approvals.yaml': [['', `${APPROVALS}# `]] })).to.deep.equal(['approvals-yaml'])
  })

  it('asks nobody without an approvals.yaml before it, and by the one before it, whatever the new one says', () => {
    const [none, opened] = [edited({}), edited(line('p, member, users, list, any, public, allow'))]
    expect(needsOf({ before: none, after: opened }, resources)).to.deep.equal([])
    const given = edited({ 'approvals.yaml': [['', APPROVALS]] })
    expect(groupsOf(needsOf({ before: given, after: opened }, resources))).to.include.members([
      'widens',
      'approvals-yaml',
    ])
    expect(needsOf({ before: none, after: given }, resources)).to.deep.equal([])
  })

  it('asks everybody where the versions have too many relations to compare', () => {
    const names = Array.from({ length: 10 }, (_, i) => [`a${i}`, `b${i}`]).flat()
    const relations = names.map((name, i) => `    ${name}: { field: note, in: [s${i}] }`).join('\n')
    const rule = (prefix: string) =>
      names.filter((name) => name.startsWith(prefix)).map((name) => `p, member, orders, read, ${name}, *, allow`)
    const declared: Edits = { 'ownership.yaml': [['    owner: customerId', `    owner: customerId\n${relations}`]] }
    const wide = asked({ ...declared, ...line(...rule('a')) }, { ...declared, ...line(...rule('b')) })
    expect(wide).to.deep.equal(['blocks', 'narrows', 'notes', 'orders', 'users', 'widens'])
  })

  it('asks everybody where the rules have very many different ends, which would take long to compare', () => {
    const ending = (count: number) =>
      Array.from(
        { length: count },
        (_, i) => `p, member, orders, read, any, *, allow, until=${2000 + i}-01-01T00:00:00Z`,
      )
    const narrower = (count: number) => asked(line(...ending(count)), line(...ending(count), '# a comment'))
    expect(narrower(100)).to.deep.equal(['narrows'])
    expect(narrower(101)).to.deep.equal(['blocks', 'narrows', 'notes', 'orders', 'users', 'widens'])
  })

  it('says why, in one line', () => {
    const [first] = needs(line('p, member, users, list, any, public, allow'))
    expect(first && needSentence(first)).to.equal(
      '1 person of `widens`, because member gains list on users (any), only fields id, displayName and bio, and 1 more',
    )
  })
})

describe('the approvals of a change', () => {
  const NAMES = ['ada', 'zoe', 'tim', 'kim']
  const GROUPS = ['a', 'b', 'c']
  const groups = fc.subarray(GROUPS)
  const need = fc.record({
    people: fc.integer({ min: 1, max: 3 }),
    from: fc.option(fc.subarray(GROUPS, { minLength: 1 }), { nil: undefined }),
  })
  const cases = fc.record({
    groups: fc.tuple(groups, groups, groups, groups),
    needs: fc.array(need, { maxLength: 3 }),
    author: fc.constantFrom(...NAMES),
    approved: fc.subarray([...NAMES, 'nobody']),
  })

  it('suffice where enough others of the groups approve, each once; and say who may still', () => {
    const property = fc.property(cases, (one) => {
      const people = new Map(NAMES.map((name, i) => [name, { keys: [], groups: one.groups[i] ?? [] }]))
      const found = one.needs.map((need) => ({ ...need, because: JSON.stringify(need) }))
      const need = { people: 1 }
      const none = { touches: [], breakGlass: undefined, requests: new Map() }
      const approvals = { people, widens: need, narrows: need, blocks: need, ...none }
      const expected = found.flatMap((need) => {
        const able = NAMES.filter((name, i) => {
          const isIn = !need.from || need.from.some((group) => one.groups[i]?.includes(group))
          return name !== one.author && isIn
        })
        const missing = need.people - able.filter((name) => one.approved.includes(name)).length
        const open = able.filter((name) => !one.approved.includes(name))
        return missing > 0 ? [{ ...need, missing, open }] : []
      })
      expect(unmetNeeds(found, approvals, one)).to.deep.equal(expected)
    })
    fc.assert(property, { numRuns: runs(2000, 300) })
  })

  it('name the reason in a sentence that fits a screen, however many people a change is about', () => {
    const because = `user:u0 (also: ${'user:u1, '.repeat(5000)}) gains read`
    const sentence = needSentence({ people: 1, because })
    expect(sentence).to.match(/^1 person, because user:u0 \(also: .*…$/)
    expect(sentence.length).to.be.lessThan(350)
  })
})
