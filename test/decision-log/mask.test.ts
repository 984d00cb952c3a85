/** What policies/masks.yaml names is in no record, and everything else is as it was. */
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Condition } from '../../src/decide/conditions/condition.ts'
import { MASKABLE, type Masks, NO_MASKS } from '../../src/decide/policy.ts'
import { type DecisionRecord, MASKED } from '../../src/decision-log/decision-record.ts'
import { LogShares } from '../../src/decision-log/log-shares.ts'
import { mask } from '../../src/decision-log/mask.ts'
import { recordLine } from '../../src/decision-log/record-line.ts'
import { bestEffortRecorder, observedRecorder, requiredRecorder } from '../../src/decision-log/recorder.ts'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import { openCandidate, type ReplayReport, replay } from '../../src/tools/replay/replay.ts'
import { type AskedServer, startAskedServer } from '../authzen/forward/asking.ts'
import { askEverything } from '../replay/requests.ts'
import { soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'

/** Each value stands in one place of the record, so that it can be looked for. */
const RECORD: DecisionRecord = {
  time: '2026-01-01T00:00:00.000Z',
  requestId: 'request',
  revision: '0000000000000000',
  method: 'PATCH',
  address: 'value-address',
  route: '/api/orders/{id}',
  resource: 'orders',
  action: 'update',
  objectId: 'value-objectId',
  subject: 'value-subject',
  roles: ['value-roles'],
  rolesLost: ['value-roles'],
  authentication: 'caller',
  reason: 'value-reason',
  outcome: 'allowed',
  status: 200,
  microseconds: 7,
  facts: {
    attributes: { department: 'value-department' },
    object: { customerId: 'value-object-customer', status: 'value-object-status', note: null },
    proposed: { customerId: 'value-proposed-customer', status: 'value-proposed-status', note: null },
    where: {
      kind: 'all',
      of: [
        { kind: 'holds', field: 'customerId', values: ['value-where-customer'] },
        { kind: 'not', of: { kind: 'holds', field: 'status', values: ['value-where-status'] } },
      ],
    },
    changed: ['status'],
    named: ['status'],
  },
}

const BY_FIELD: Readonly<Record<string, readonly string[]>> = {
  customerId: ['value-object-customer', 'value-proposed-customer', 'value-where-customer'],
  status: ['value-object-status', 'value-proposed-status', 'value-where-status'],
}
const ALL = ['value-department', ...Object.values(BY_FIELD).flat(), ...MASKABLE.map((name) => `value-${name}`)]

const randomMasks = fc.record({
  fields: fc.subarray([...MASKABLE]),
  orders: fc.subarray(['id', 'customerId', 'status', '*']),
  users: fc.subarray(['department', '*', 'email']),
})

/** Few values for many places, so that they often stand in several. */
const sharedValues = fc.array(fc.constantFrom('v1', 'v2', 'v3', 'v4', 'v5', 'v6'), { minLength: 9, maxLength: 9 })

/** Address, subject, roles and reason are masked by their names alone. */
function recordWith(values: readonly string[]): DecisionRecord {
  const [subject, objectId, department, customer, status, newCustomer, newStatus, own = '', other = ''] = values
  const where: Condition = {
    kind: 'some',
    of: [
      { kind: 'holds', field: 'customerId', values: [own] },
      { kind: 'not', of: { kind: 'holds', field: 'status', values: [other] } },
    ],
  }
  const attributes = { department: department ?? '' }
  const object = { customerId: customer ?? '', status: status ?? '' }
  const proposed = { customerId: newCustomer ?? '', status: newStatus ?? '' }
  return { ...RECORD, subject, objectId, facts: { attributes, object, proposed, where } }
}

/** Each place with the name that masks call it by, and its value. */
function placesOf({ subject, objectId, facts = {} }: DecisionRecord): readonly (readonly [string, unknown])[] {
  const { attributes, object, proposed, where } = facts
  const compared = where && 'of' in where && Array.isArray(where.of) ? where.of : []
  const [own, other] = compared.map((one) => ('of' in one ? one.of : one))
  return [
    ['subject', subject],
    ['objectId', objectId],
    ['orders.id', objectId],
    ['users.department', attributes?.department],
    ...[object, proposed].flatMap((one) => [
      ['orders.customerId', one?.customerId] as const,
      ['orders.status', one?.status] as const,
    ]),
    ['orders.customerId', own?.values[0]],
    ['orders.status', other?.values[0]],
  ]
}

function hiddenIn(record: DecisionRecord, { fields, orders, users }: Named): ReadonlySet<unknown> {
  const names: readonly string[] = [
    ...fields,
    ...orders.map((name) => `orders.${name}`),
    ...users.map((name) => `users.${name}`),
  ]
  const isNamed = (place: string) => names.includes(place) || names.includes(place.replace(/\.\w+$/, '.*'))
  return new Set(placesOf(record).flatMap(([place, value]) => (isNamed(place) ? [value] : [])))
}

interface Named {
  readonly fields: readonly (typeof MASKABLE)[number][]
  readonly orders: readonly string[]
  readonly users: readonly string[]
}

function masksOf({ fields, orders, users }: Named): Masks {
  const facts = [['orders', orders] as const, ['users', users] as const].filter(([, names]) => names.length > 0)
  return { fields: new Set(fields), facts: new Map(facts.map(([name, names]) => [name, new Set(names)])) }
}

function hiddenBy({ fields, orders, users }: Named): ReadonlySet<string> {
  const ofOrders = Object.keys(BY_FIELD).filter((field) => orders.includes('*') || orders.includes(field))
  return new Set([
    ...fields.map((name) => `value-${name}`),
    ...ofOrders.flatMap((field) => BY_FIELD[field] ?? []),
    ...(orders.includes('*') || orders.includes('id') ? ['value-objectId'] : []),
    ...(users.includes('*') || users.includes('department') ? ['value-department'] : []),
  ])
}

describe('a mask', () => {
  const holds = (masked: (record: DecisionRecord, masks: Masks) => DecisionRecord) =>
    fc.property(randomMasks, (named) => {
      const line = recordLine(masked(RECORD, masksOf(named)))
      const hidden = hiddenBy(named)
      expect(ALL.filter((value) => line.includes(value))).to.deep.equal(ALL.filter((value) => !hidden.has(value)))
    })

  it('takes just the values that it names out of a record, wherever they stand', () => {
    fc.assert(holds(mask))
  })

  it('that left a place out would be found out', () => {
    const careless = (record: DecisionRecord, masks: Masks) => {
      const masked = mask(record, masks)
      return { ...masked, facts: { ...masked.facts, proposed: record.facts?.proposed ?? {} } }
    }
    expect(fc.check(holds(careless), { seed: 1, endOnFailure: true }).failed).to.equal(true)
  })

  it('of a related resource takes its values out of what a list was filtered by, and no others', () => {
    const status = (value: string): Condition => ({ kind: 'holds', field: 'status', values: [value] })
    const related: Condition = {
      kind: 'related',
      field: 'customerId',
      resource: 'users',
      by: 'id',
      where: status('value-related'),
    }
    const where: Condition = { kind: 'all', of: [status('value-own'), related] }
    const line = (named: Pick<Named, 'orders' | 'users'>) =>
      recordLine(mask({ ...RECORD, facts: { where } }, masksOf({ fields: [], ...named })))
    expect(line({ orders: [], users: ['status'] }))
      .to.contain('value-own')
      .and.not.contain('value-related')
    expect(line({ orders: ['status'], users: [] }))
      .to.contain('value-related')
      .and.not.contain('value-own')
  })

  it('changes nothing else, and nothing at all where nothing is named', () => {
    expect(mask(RECORD, NO_MASKS)).to.equal(RECORD)
    const masked = mask(RECORD, masksOf({ fields: ['address'], orders: ['status'], users: [] }))
    expect({ ...masked, address: RECORD.address, facts: RECORD.facts }).to.deep.equal(RECORD)
    expect(masked.facts?.object).to.deep.equal({ customerId: 'value-object-customer', status: MASKED, note: null })
  })

  it('takes a value that stands masked in one place out of object id and all facts', () => {
    fc.assert(
      fc.property(randomMasks, sharedValues, (named, values) => {
        const record = recordWith(values)
        const masked = mask(record, masksOf(named))
        const hidden = hiddenIn(record, named)
        const isHidden = (place: string, value: unknown) =>
          place === 'subject' ? named.fields.includes('subject') : hidden.has(value)
        expect(placesOf(masked)).to.deep.equal(
          placesOf(record).map(([place, value]) => [place, isHidden(place, value) ? MASKED : value]),
        )
      }),
    )
  })

  it('takes what a search found out of the record, where it is of the masked kind', () => {
    const found = { candidates: 2, found: ['value-found'] }
    const people: DecisionRecord = { ...RECORD, searched: { for: 'subject', resource: 'orders', ...found } }
    const orders: DecisionRecord = { ...RECORD, searched: { for: 'resource', resource: 'orders', ...found } }
    const line = (record: DecisionRecord, fields: (typeof MASKABLE)[number][], own: string[] = []) =>
      recordLine(mask(record, masksOf({ fields, orders: own, users: [] })))
    expect(line(people, ['subject'])).to.not.contain('value-found')
    expect(line(people, ['objectId'])).to.contain('value-found')
    expect(line(orders, ['objectId'])).to.not.contain('value-found')
    expect(line(orders, ['address'], ['*'])).to.not.contain('value-found')
    expect(line(orders, ['subject'])).to.contain('value-found')
  })

  it('takes the ids of other objects out of the record: what was shown, and what went along, by their resource', () => {
    const user = { resource: 'users', objectId: 'value-subject' }
    const [other, order] = [
      { resource: 'users', objectId: 'value-other' },
      { resource: 'orders', objectId: 'value-order' },
    ]
    const record: DecisionRecord = {
      ...RECORD,
      expanded: [user, order],
      along: { changed: [other], deleted: [order, user] },
    }
    const line = (fields: (typeof MASKABLE)[number][], orders: string[] = [], users: string[] = []) =>
      recordLine(mask(record, masksOf({ fields, orders, users })))
    const all = ['value-subject', 'value-other', 'value-order']
    const shown = (text: string) => all.filter((value) => text.includes(value))
    expect(shown(line(['address']))).to.deep.equal(all)
    expect(shown(line(['objectId', 'subject']))).to.deep.equal([])
    expect(shown(line(['subject']))).to.deep.equal(['value-other', 'value-order'])
    expect(shown(line(['address'], ['id']))).to.deep.equal(['value-subject', 'value-other'])
    expect(shown(line(['subject'], [], ['id']))).to.deep.equal(['value-order'])
  })

  it('takes the id of a parent out of the record: as an id of its resource, and as a value of the field that names it', () => {
    const record: DecisionRecord = {
      ...RECORD,
      route: '/users/{customerId}/orders',
      parent: { resource: 'users', objectId: 'value-parent' },
    }
    const line = (fields: (typeof MASKABLE)[number][], orders: string[] = [], users: string[] = []) =>
      recordLine(mask(record, masksOf({ fields, orders, users })))
    expect(line(['address'])).to.contain('value-parent')
    expect(line(['address'], ['status'], ['email'])).to.contain('value-parent')
    expect(line(['objectId'])).to.not.contain('value-parent')
    expect(line(['address'], [], ['id'])).to.not.contain('value-parent')
    expect(line(['address'], ['customerId'])).to.not.contain('value-parent')
  })

  it('of the subject also takes the id out of fields that hold it', () => {
    const own: DecisionRecord = { ...RECORD, facts: { object: { customerId: 'value-subject' } } }
    expect(recordLine(mask(own, masksOf({ fields: ['subject'], orders: [], users: [] })))).not.to.contain(
      'value-subject',
    )
  })
})

describe('a recorder', () => {
  it('writes the masked record, and shows the candidate the whole one', async () => {
    const masks = masksOf({ fields: ['subject'], orders: [], users: [] })
    for (const recorder of [requiredRecorder, bestEffortRecorder]) {
      const [written, seen]: [DecisionRecord[], DecisionRecord[]] = [[], []]
      const log = {
        note: async (line: string) => void written.push(JSON.parse(line)),
        noteUnawaited: (line: string) => void written.push(JSON.parse(line)),
        committed: () => undefined,
      }
      const both = observedRecorder(recorder(log, new LogShares({ share: Number.POSITIVE_INFINITY })), (record) =>
        seen.push(record),
      )
      await both.note(RECORD, masks)
      expect([written[0]?.subject, seen[0]?.subject]).to.deep.equal([MASKED, RECORD.subject])
    }
  })
})

describe('masks.yaml', () => {
  let server: TestServer
  afterEach(() => server.stop())
  const file = (name: string) => join(server.folder, 'policies', name)

  it('masks what is written, of reads and writes alike, and hot', async () => {
    server = await startTestServer({ demo: true })
    const token = await server.token('alice', 'member')
    await server.ask('GET', '/api/v1/notes', { token })
    const before = await server.app.policy.active.revision
    await writeFile(file('masks.yaml'), 'fields: [address, subject]\nfacts:\n  notes: [ownerId]\n')
    await server.app.policy.reload()
    expect(server.app.policy.active.revision).not.to.equal(before)
    await server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
    await server.ask('GET', '/api/v1/notes', { token })
    const [open, ...masked] = await server.decisions()
    expect(open).to.include({ subject: 'alice', address: '127.0.0.1' })
    expect(masked).to.have.length(2)
    for (const record of masked) expect(record).to.include({ subject: MASKED, address: MASKED })
    expect(JSON.stringify(masked)).not.to.contain('alice').and.not.to.contain('127.0.0.1')
    const waited = await readFile(join(server.folder, 'data/decisions.log'), 'utf8')
    expect(waited.split('alice').length).to.equal(JSON.stringify(open).split('alice').length)
  })

  it('of subjects leaves nobody told: neither the id in a path nor the owner of what is asked for', async () => {
    server = await startTestServer({ demo: true, files: { 'policies/masks.yaml': 'fields: [subject, objectId]\n' } })
    const token = await server.token('alice', 'member')
    for (const path of ['/users/alice', '/profile', '/api/orders', '/api/accounts']) {
      await server.ask('GET', path, { token })
    }
    expect(JSON.stringify(await server.decisions())).not.to.contain('alice')
  })

  it('of the ids of users leaves none as an object id: of found and missing ones, sign-ins and other kinds', async () => {
    const files = { 'policies/masks.yaml': 'facts: { users: [id] }\n' }
    server = await startTestServer({ demo: true, files })
    const token = await server.token('root', 'admin')
    for (const id of ['alice', 'gone-for-good']) {
      for (const method of ['GET', 'DELETE', 'OPTIONS']) await server.ask(method, `/users/${id}`, { token })
      await server.ask('PATCH', `/users/${id}`, { token, body: { name: 1 } })
      await server.ask('GET', `/users/${id}`, {})
      await server.ask('GET', `/users/${id}?x=1`, { token: 'invalid' })
    }
    await server.ask('GET', '/api/orders/order-1', { token })
    const records = await server.decisions()
    const users = records.filter(({ resource }) => resource === 'users')
    expect(users).to.have.length(12)
    expect(new Set(users.map(({ objectId }) => objectId))).to.deep.equal(new Set([MASKED]))
    expect(records.at(-1)).to.include({ objectId: 'order-1' })
    const signIn: DecisionRecord = { ...RECORD, resource: 'system/tokens', objectId: 'alice' }
    expect(mask(signIn, masksOf({ fields: [], orders: [], users: ['id'] })).objectId).to.equal(MASKED)
    expect(mask(signIn, masksOf({ fields: [], orders: ['id'], users: [] })).objectId).to.equal('alice')
  })

  it('of the ids of users leaves none in any kind of record that is about one', async () => {
    const asking = await startAskedServer({ files: { 'policies/masks.yaml': 'facts: { users: [id] }\n' } })
    server = asking
    const asked = await askAboutBob(asking)
    const records = await server.decisions()
    expect(records.length).to.be.at.least(asked)
    const whole = records.filter((record) => JSON.stringify(record).includes('"objectId":"bob"'))
    expect(whole).to.deep.equal([])
    expect(records.filter(({ searched }) => /"found":\[.*"bob"/.test(JSON.stringify({ searched })))).to.deep.equal([])
    // The negative control: without the mask, each of these requests tells the id.
    await writeFile(file('masks.yaml'), '{}\n')
    await server.app.policy.reload()
    await askAboutBob(asking)
    const open = (await server.decisions()).slice(records.length)
    expect(open.filter((record) => /"(objectId":|found":\[.*)"bob"/.test(JSON.stringify(record)))).to.have.length(asked)
  })

  it('that is a link which leads nowhere is refused: it was to mask something', async () => {
    server = await startTestServer({ demo: true })
    await symlink('/nowhere/masks.yaml', file('masks.yaml'))
    await server.app.policy.reload()
    expect(server.app.policy.faults.map(String).join()).to.contain('masks.yaml:1:1')
  })

  it('leaves nothing wrong to a replay, whatever it hides', async () => {
    const masks = 'fields: [address, roles]\nfacts: { orders: [status], users: ["*"] }\n'
    server = await startTestServer({ demo: true, files: { 'policies/masks.yaml': masks } })
    await askEverything(server, ({ resource }) => resource === 'orders' || soak(resource === 'users', false))
    await server.decisions()
    const report = await replayed(server)
    expect(report.groups).to.deep.equal([])
    expect([...report.undecidable.keys()]).to.include("the record doesn't hold the caller's roles")
  })

  it('leaves nothing wrong to a replay: what it hides is undecidable', async () => {
    server = await startTestServer({
      demo: true,
      files: { 'policies/masks.yaml': 'facts: { orders: [customerId] }\n' },
    })
    const token = await server.token('alice', 'member')
    const { body } = await server.ask('GET', '/api/orders', { token })
    for (const { id } of body.items) await server.ask('GET', `/api/orders/${id}`, { token })
    await server.ask('GET', '/api/v1/notes', { token })
    await server.decisions()
    const report = await replayed(server)
    expect(report.groups).to.deep.equal([])
    expect(report.same).to.equal(1)
    expect([...report.undecidable.keys()]).to.deep.equal([
      "the record doesn't hold what the list was filtered by",
      "the record doesn't hold the object's `customerId`",
    ])
  })

  it('with a fault is refused with its place, and the masks before stay', async () => {
    server = await startTestServer({ demo: true, files: { 'policies/masks.yaml': 'fields: [subject]\n' } })
    for (const [text, place] of [
      ['fields: [subjects]\n', 'masks.yaml:1:10'],
      ['facts: { ordres: [status] }\n', 'masks.yaml:1:'],
      ['facts: { orders: [statsu] }\n', 'masks.yaml:1:'],
      ['mask: [subject]\n', 'masks.yaml:1:1'],
      ['fields: [\n', 'masks.yaml:'],
    ] as const) {
      await writeFile(file('masks.yaml'), text)
      await server.app.policy.reload()
      expect(server.app.policy.faults.map(String).join(), text).to.contain(place)
    }
    await server.ask('GET', '/profile', { token: await server.token('alice', 'member') })
    expect(await server.lastDecision({ method: 'GET' })).to.include({ subject: MASKED })
  })
})

/** Under the policy that decided. */
async function replayed({ folder, app }: TestServer): Promise<ReplayReport> {
  const candidate = await openCandidate(join(folder, 'policies'), app.resources)
  return replay(
    { candidate, baseline: undefined },
    {
      files: [join(folder, 'data/decisions.log')],
      since: Number.NEGATIVE_INFINITY,
      until: Number.POSITIVE_INFINITY,
      maxExamples: 3,
      onProgress: () => undefined,
    },
  )
}

/** Every way in which a record can be about the user bob. The number of requests that reach him. */
async function askAboutBob(server: AskedServer): Promise<number> {
  const root = await server.token('root', 'admin')
  const shop = await server.token('shop', 'pdp-client')
  const bob = await server.token('bob', 'member')
  const user = { type: 'users', id: 'bob' }
  const [subject, action] = [{ type: 'user', id: 'ada' }, { name: 'read' }]
  const credentials = { email: 'bob@example.com', password: DEMO_PASSWORD }
  const forwarded = { 'X-Original-Method': 'GET', 'X-Original-URI': '/users/bob', 'X-Sallyport-Key': server.key }
  const { body } = await server.ask('GET', '/users/bob', { token: root })
  const answers = [
    ...(await Promise.all(['HEAD', 'OPTIONS'].map((method) => server.ask(method, '/users/bob', { token: root })))),
    await server.ask('GET', '/users/bob?can=true', { token: root }),
    await server.ask('GET', '/users/bob?x=1', { token: root }),
    await server.ask('GET', '/users/bob', {}),
    await server.ask('GET', '/users/bob', { token: 'invalid' }),
    await server.ask('GET', '/users/bob', { token: bob }),
    await server.ask('GET', '/profile', { token: bob }),
    await server.ask('PATCH', '/users/bob', { token: root, body: { name: 1 } }),
    await server.ask('PATCH', '/users/bob', { token: root, body: { name: body.name } }),
    await server.ask('PATCH', '/users/bob', { token: root, body: { name: 'x' }, headers: { 'If-Match': '"0"' } }),
    await server.ask('PUT', '/users/bob', { token: root, body: {} }),
    await server.ask('DELETE', '/users/bob', { token: bob }),
    await server.ask('GET', '/access/v1/forward/nginx', { token: root, headers: forwarded }),
    await server.ask('GET', '/access/v1/forward/nginx', { headers: forwarded }),
    await server.ask('POST', '/access/v1/evaluation', { token: shop, body: { subject, action, resource: user } }),
    await server.ask('POST', '/access/v1/evaluations', {
      token: shop,
      body: { subject, action, evaluations: [{ resource: user }, { resource: { ...user, id: 'eve' } }] },
    }),
    await server.ask('POST', '/access/v1/search/resource', {
      token: shop,
      body: { subject, action, resource: { type: 'users' } },
    }),
    await server.ask('POST', '/access/v1/search/subject', {
      token: shop,
      body: { subject: { type: 'user' }, action, resource: user },
    }),
    await server.ask('POST', '/access/v1/search/action', { token: shop, body: { subject, resource: user } }),
    await server.ask('POST', '/api/tokens', { body: credentials }),
    await server.ask('POST', '/api/tokens', { body: { ...credentials, password: 'wrong' } }),
  ]
  return answers.length + 1
}
