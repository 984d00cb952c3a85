/**
 * The shipped policy, as tables: every role, resource and action, on own and other objects, in every state; and each step
 * of an order from one state to another.
 */
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { casbinPolicy } from '../../src/decide/casbin/casbin.ts'
import { kindOf } from '../../src/decide/relations/all-kinds.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import type { Snapshot } from '../../src/decide/snapshot.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { subsets } from './oracle.ts'

const pathOf = (folder: string) => fileURLToPath(new URL(`../../${folder}`, import.meta.url))

/** The fields granted to a caller who relates so; `whole` is every field of the resource. */
type Access = (relates: ReadonlySet<string>, whole: readonly string[]) => readonly string[]

const refused: Access = () => []
const any: Access = (_relates, whole) => whole
const own: Access = (relates, whole) => (relates.has('owner') ? whole : [])
const ownDraft: Access = (relates, whole) => (relates.has('draft') ? own(relates, whole) : [])
const statusIf =
  (name: string): Access =>
  (relates) =>
    relates.has(name) ? ['status'] : []
const openStatus: Access = (relates) => (relates.has('placed') || relates.has('open') ? ['status'] : [])
const fields =
  (...names: readonly string[]): Access =>
  () =>
    names
const ownFields =
  (...names: readonly string[]): Access =>
  (relates) =>
    own(relates, names)
const both =
  (one: Access, other: Access): Access =>
  (relates, whole) => [...new Set([...one(relates, whole), ...other(relates, whole)])]

const contact = fields('id', 'displayName', 'email')
const ownPersonal = ownFields('displayName', 'email', 'bio')
const everybody = (access: Access) => ({
  everyone: access,
  member: access,
  support: access,
  auditor: access,
  admin: access,
})

/** Who has what, by column: `everyone` is a caller without credentials, or with none of the roles. */
interface Row extends Readonly<Record<Column, Access>> {
  readonly on: string
  readonly actions: string
}
const COLUMNS = ['everyone', 'member', 'support', 'auditor', 'admin'] as const
type Column = (typeof COLUMNS)[number]

// biome-ignore format: a table
const TABLE: readonly Row[] = [
  { on: 'notes', actions: 'list read', everyone: refused, member: own, support: own, auditor: any, admin: any },
  { on: 'notes', actions: 'create replace update delete', everyone: refused, member: own, support: own, auditor: refused, admin: own },
  { on: 'orders', actions: 'list read', everyone: refused, member: own, support: any, auditor: any, admin: any },
  { on: 'orders', actions: 'create', everyone: refused, member: ownDraft, support: ownDraft, auditor: refused, admin: any },
  { on: 'orders', actions: 'replace delete', everyone: refused, member: ownDraft, support: ownDraft, auditor: refused, admin: any },
  { on: 'orders', actions: 'update', everyone: refused, member: ownDraft, support: both(openStatus, ownDraft), auditor: refused, admin: any },
  { on: 'orders', actions: 'place', everyone: refused, member: ownDraft, support: ownDraft, auditor: refused, admin: any },
  { on: 'orders', actions: 'ship', everyone: refused, member: refused, support: statusIf('placed'), auditor: refused, admin: any },
  { on: 'orders', actions: 'cancel', everyone: refused, member: refused, support: statusIf('open'), auditor: refused, admin: any },
  { on: 'accounts', actions: 'list read', everyone: refused, member: own, support: own, auditor: any, admin: any },
  { on: 'accounts', actions: 'create update', everyone: refused, member: refused, support: refused, auditor: refused, admin: any },
  { on: 'accounts', actions: 'replace delete', ...everybody(refused) },
  { on: 'users', actions: 'list', everyone: refused, member: refused, support: contact, auditor: any, admin: any },
  { on: 'users', actions: 'read', everyone: refused, member: own, support: both(contact, own), auditor: any, admin: any },
  { on: 'users', actions: 'update', everyone: refused, member: ownPersonal, support: ownPersonal, auditor: refused, admin: any },
  { on: 'users', actions: 'create replace delete', everyone: refused, member: refused, support: refused, auditor: refused, admin: any },
  { on: 'users', actions: 'profile', ...everybody(fields('id', 'displayName', 'bio')) },
  { on: 'system/health', actions: 'read', ...everybody(fields('status')), auditor: any, admin: any },
  { on: 'system/openapi', actions: 'read', ...everybody(any) },
  { on: 'system/tokens', actions: 'create delete', ...everybody(any) },
  { on: 'system/keys', actions: 'read', ...everybody(any) },
  { on: 'system/access', actions: 'read', ...everybody(any) },
  { on: 'system/access', actions: 'evaluate search filter forward', ...everybody(refused) },
  { on: 'system/access-requests', actions: 'create read', ...everybody(refused) },
  { on: 'system/batch', actions: 'send', ...everybody(refused) },
  { on: 'system/policy', actions: 'read explain read-decisions', ...everybody(refused), auditor: any, admin: any },
  { on: 'system/policy', actions: 'draft propose block', ...everybody(refused), admin: any },
  { on: 'system/policy', actions: 'approve', ...everybody(refused) },
  ...['notes', 'orders', 'accounts', 'users', 'system/health', 'system/openapi', 'system/tokens', 'system/keys', 'system/access', 'system/access-requests', 'system/batch', 'system/policy'].map((on) => ({ on, actions: 'options', ...everybody(any) })),
]

/** Which roles a caller of a column claims; a role that nobody declared makes no difference. */
const CALLERS: Readonly<Record<Column, readonly (readonly string[])[]>> = {
  everyone: [[], ['owner'], ['user:ada']],
  member: [['member']],
  support: [['support'], ['support', 'member']],
  auditor: [['auditor']],
  admin: [['admin'], ['member', 'admin']],
}

/** The relations of an order in each state. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  draft: ['draft', 'open'],
  placed: ['placed', 'open'],
  shipped: ['shipped'],
  cancelled: ['cancelled'],
}

/** The steps that a PATCH may take, with the fields that it may change: of one's own order, and of any order. */
const OWN_STEPS: ReadonlySet<string> = new Set(['draft>draft', 'draft>placed'])
const SUPPORT_STEPS: ReadonlySet<string> = new Set(['placed>shipped', 'draft>cancelled', 'placed>cancelled'])

describe('the shipped policy', () => {
  let resources: Resources
  let snapshot: Snapshot

  before(async () => {
    resources = await loadResources(pathOf('schemas'))
    snapshot = casbinPolicy(packPolicy(parsePolicy(await readPolicyFiles(pathOf('policies')), resources)), resources)
  })

  async function granted(roles: readonly string[] | undefined, on: string, action: string) {
    const caller = roles && { id: 'somebody', roles, claims: {} }
    const table = await snapshot.table(snapshot.subjectOf(caller), on, action)
    const relations = [...(snapshot.ownershipOf(on)?.relations.keys() ?? [])]
    const cells = subsets(relations).map((relates) => ({ relates, fields: table.grant([...relates]).fields }))
    return { cells, reachable: table.roleLevel(() => roles !== undefined).allowed }
  }

  /** The fields that may change, for each step from one state to another; by default the owner stays. */
  async function stepsOf(roles: readonly string[], action: string, stored: readonly string[], proposed = stored) {
    const caller = { id: 'somebody', roles, claims: {} }
    const table = await snapshot.table(snapshot.subjectOf(caller), 'orders', action)
    return Object.entries(STATES).flatMap(([from, before]) =>
      Object.entries(STATES).map(([to, after]) => {
        const held = {
          stored: [...stored, ...before],
          mixed: [...proposed, ...before],
          proposed: [...proposed, ...after],
        }
        return [`${from}>${to}`, table.grantResult(held).fields] as const
      }),
    )
  }

  function stepsByColumn(
    action: string,
    isOwn: boolean,
  ): Readonly<Record<Column, (step: string) => readonly string[]>> {
    const whole = [...(resources.byName.get('orders')?.fields.keys() ?? [])]
    const ofOwner = (step: string) => (isOwn && OWN_STEPS.has(step) ? whole : [])
    const ofSupport = (step: string) => (action === 'update' && SUPPORT_STEPS.has(step) ? ['status'] : [])
    return {
      everyone: () => [],
      member: ofOwner,
      support: (step) => [...ofOwner(step), ...ofSupport(step)],
      auditor: () => [],
      admin: () => whole,
    }
  }

  async function expectSteps(
    roles: readonly string[],
    action: string,
    isOwn: boolean,
    expected: (step: string) => readonly string[],
  ) {
    const steps = await stepsOf(roles, action, isOwn ? ['owner'] : [])
    expect(steps).to.have.length(16)
    for (const [step, fields] of steps) expect(fields, step).to.deep.equal(new Set(expected(step)))
  }

  async function expectRow(roles: readonly string[] | undefined, on: string, action: string, access: Access) {
    const { cells, reachable } = await granted(roles, on, action)
    const resource = resources.byName.get(on)
    const whole = resource?.actions.get(action)?.hasFields ? [...resource.fields.keys()] : ['*']
    for (const { relates, fields: found } of cells) {
      expect(found, [...relates].join('+')).to.deep.equal(new Set(access(relates, whole)))
    }
    expect(reachable).to.equal(cells.some((cell) => cell.fields.size > 0))
  }

  for (const row of TABLE) {
    for (const action of row.actions.split(' ')) {
      it(`grants ${action} on ${row.on} as the table says`, async () => {
        await expectRow(undefined, row.on, action, row.everyone)
        for (const column of COLUMNS) {
          for (const roles of CALLERS[column]) await expectRow(roles, row.on, action, row[column])
        }
      })
    }
  }

  for (const action of ['replace', 'update']) {
    for (const isOwn of [true, false]) {
      it(`grants each step of ${isOwn ? 'an own' : "another's"} order (${action}) to whom it belongs`, async () => {
        const expected = stepsByColumn(action, isOwn)
        for (const column of COLUMNS) {
          for (const roles of CALLERS[column]) await expectSteps(roles, action, isOwn, expected[column])
        }
      })
    }
  }

  it('lets nobody but an admin give an order away, in any step', async () => {
    for (const [step, fields] of await stepsOf(['member'], 'update', ['owner'], []))
      expect([...fields], step).to.be.empty
  })

  it('has a row for every action of every resource', () => {
    const rows = TABLE.flatMap((row) => row.actions.split(' ').map((action) => `${action} ${row.on}`))
    const declared = [...resources.byName.values()].flatMap(({ name, actions }) =>
      [...actions.keys()].map((action) => `${action} ${name}`),
    )
    expect(rows.sort()).to.deep.equal(declared.sort())
  })

  it('keeps an auditor from every write on data, whatever other roles they have', async () => {
    for (const on of ['notes', 'orders', 'accounts', 'users']) {
      for (const action of ['create', 'replace', 'update', 'delete']) {
        await expectRow(['auditor', 'admin', 'support'], on, action, refused)
      }
    }
  })

  it('lets an auditor who is a member read what members read', async () => {
    await expectRow(['auditor', 'member'], 'notes', 'read', any)
  })

  it('knows the owner of each resource by the field of the table', () => {
    const owners = ['notes', 'orders', 'accounts', 'users'].map((on) =>
      snapshot.ownershipOf(on)?.relations.get('owner'),
    )
    const equations = owners.map((owner) => owner && kindOf(owner).equates?.(owner))
    expect(equations.map((one) => one?.field)).to.deep.equal(['ownerId', 'customerId', 'userId', 'id'])
    expect(equations.every((one) => one?.attribute === 'id')).to.equal(true)
  })

  it('conceals no resource', () => {
    const concealed = [...resources.byName.keys()].filter((name) => snapshot.ownershipOf(name)?.conceal)
    expect(concealed).to.deep.equal([])
  })

  it('is compared cell by cell: a wrong table is found out', async () => {
    const outcome = await expectRow(['member'], 'notes', 'read', any).then(
      () => 'passed',
      () => 'failed',
    )
    expect(outcome).to.equal('failed')
  })
})
