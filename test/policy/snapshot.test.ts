/** A snapshot: who is asked for what, what is kept, and that a fault never allows. */
import { expect } from 'chai'
import type { Caller } from '../../src/decide/caller.ts'
import { casbinPolicy, createEnforcer } from '../../src/decide/casbin/casbin.ts'
import type { IsGranted } from '../../src/decide/grants/grant.ts'
import { CellBudget, GrantTable } from '../../src/decide/grants/grant-table.ts'
import type { Rule, Views } from '../../src/decide/policy.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import type { Snapshot } from '../../src/decide/snapshot.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { DOCS, RESOURCES } from './fixture.ts'
import { subsets } from './oracle.ts'
import { snapshotOf } from './product.ts'
import { filesOf } from './render.ts'

const ROLES = 'member: { description: A member. }\nboss: { description: A boss. }\n'
const OWNERSHIP = `docs:
  relations:
    owner: ownerId
    colleague: { field: team, equals: subject.team }
    draft: { field: status, in: [draft] }
`

function snapshot(...lines: readonly string[]): Snapshot {
  return snapshotOf(filesOf({ 'policy.csv': lines.join('\n'), 'roles.yaml': ROLES, 'ownership.yaml': OWNERSHIP }))
}

function caller(id: string, ...roles: readonly string[]): Caller {
  return { id, roles, claims: {} }
}

async function tableOf(of: Snapshot, who: Caller | undefined, action = 'read'): Promise<GrantTable> {
  return of.table(of.subjectOf(who), 'docs', action)
}

async function mayRead(of: Snapshot, who: Caller | undefined): Promise<boolean> {
  return (await tableOf(of, who)).grant([]).fields.size > 0
}

describe('a snapshot', () => {
  it('gives a caller of a provider the roles that name what the provider says, and no others', () => {
    const roles = `
member: { description: A member., claims: [eng, all] }
boss: { description: A boss., claims: [eng] }
`
    const policy = snapshotOf(filesOf({ 'policy.csv': '', 'roles.yaml': roles }))
    const rolesOf = (...provided: readonly string[]) => policy.withRoles({ ...caller('x'), provided }).roles
    expect(rolesOf('eng', 'all', 'eng')).to.deep.equal(['member', 'boss'])
    expect(rolesOf('all')).to.deep.equal(['member'])
    for (const other of [
      'member',
      'boss',
      'Eng',
      'eng ',
      ' eng',
      '/eng',
      '__proto__',
      'constructor',
      'user:x',
      'everyone',
      '',
    ]) {
      expect(rolesOf(other), other).to.deep.equal([])
    }
    const one = { ...caller('x'), provided: ['all'] }
    expect(policy.withRoles(one)).to.equal(policy.withRoles(one))
    expect(policy.subjectOf(one).roles.size).to.equal(0)
  })

  it('grants nothing to a role that nobody declared, whatever it is called', async () => {
    const policy = snapshot(
      'p, member, docs, read, any, *, allow',
      'p, anonymous, docs, read, any, *, allow',
      'p, user:eve, docs, read, any, *, allow',
    )
    expect(await mayRead(policy, caller('x', 'member'))).to.equal(true)
    const claimed = [
      'ghost',
      'Member',
      ' member',
      'anonymous',
      'everyone',
      'user:eve',
      'caller:',
      'constructor',
      '__proto__',
      '*',
    ]
    expect(await mayRead(policy, caller('x', ...claimed))).to.equal(false)
    expect(policy.subjectOf(caller('x', ...claimed)).roles.size).to.equal(0)
  })

  it('takes a user for nobody else: neither a role, nor a list, nor the name that Casbin asks by', async () => {
    const policy = snapshot('p, "user:a,b", docs, read, any, *, allow', 'p, member, docs, read, any, *, allow')
    expect(await mayRead(policy, caller('a,b'))).to.equal(true)
    for (const id of ['a', 'b', '"a,b"', 'member', 'caller:', '', 'user:a,b', 'everyone', 'x","user:a,b']) {
      expect(await mayRead(policy, caller(id)), id).to.equal(false)
    }
  })

  it('lets a deny for one user win over what their role allows', async () => {
    const policy = snapshot('p, member, docs, read, any, *, allow', 'p, user:eve, docs, read, any, *, deny')
    expect(await mayRead(policy, caller('eve', 'member'))).to.equal(false)
    expect(await mayRead(policy, caller('bob', 'member'))).to.equal(true)
  })

  it('denies everybody everything when the policy is empty', async () => {
    const policy = snapshot()
    for (const { name, actions } of RESOURCES.byName.values()) {
      for (const action of actions.keys()) {
        for (const who of [undefined, caller('x'), caller('x', 'member', 'boss')]) {
          const table = await policy.table(policy.subjectOf(who), name, action)
          expect(table.roleLevel(() => true).allowed).to.equal(false)
          expect(table.where({ valuesOf: () => ['x'], now: 0 }, [], undefined)).to.deep.equal({ kind: 'never' })
          for (const set of subsets(['owner', 'draft'])) expect(table.grant([...set]).fields.size).to.equal(0)
        }
      }
    }
  })

  it('has no table for what no schema declares', async () => {
    const policy = snapshot('p, everyone, *, *, any, *, allow')
    const subject = policy.subjectOf(undefined)
    for (const [resource, action] of [
      ['dogs', 'read'],
      ['docs', 'fetch'],
      ['docs', 'toString'],
      ['*', 'read'],
    ] as const) {
      expect(await failureOf((async () => policy.table(subject, resource, action))())).to.be.instanceOf(Error)
    }
  })

  it('has one table for callers of the same subjects, and cells that name the rules that matched', async () => {
    const policy = snapshot(
      'p, member, docs, read, owner, *, allow',
      '# note',
      'p, member, docs, read, draft+owner, *, deny',
    )
    const table = await tableOf(policy, caller('a', 'member'))
    expect(await tableOf(policy, caller('b', 'ghost', 'member'))).to.equal(table)
    expect(await tableOf(policy, caller('a'))).not.to.equal(table)
    expect(table.grant(['owner']).lines).to.deep.equal([1])
    expect(table.grant(['owner', 'draft', 'colleague']).lines).to.deep.equal([1, 3])
    expect(table.grant(['draft', 'owner'])).to.equal(table.grant(['owner', 'colleague', 'draft']))
    expect(table.attributes).to.deep.equal([])
    const compared = snapshot('p, member, docs, read, owner, *, allow', 'p, everyone, docs, read, colleague, *, allow')
    expect((await tableOf(compared, caller('a', 'member'))).attributes).to.deep.equal(['team'])
  })
})

describe('the cells of a table', () => {
  for (const count of [3, 31, 32, 60]) {
    it(`are told apart where rules name ${count} relations`, async () => {
      const names = Array.from({ length: count }, (_, i) => `r${i}`)
      // Of few leaves: the rules about an action may name twelve at most.
      const leaves = '    draft: { field: status, in: [draft] }\n    owner: ownerId\n'
      const relations = `${leaves}${names.map((name) => `    ${name}: { any: [draft, owner] }`).join('\n')}`
      const policy = names.map((name) => `p, member, docs, read, ${name}, *, allow`).join('\n')
      const ownership = `docs:\n  relations:\n${relations}\n`
      const made = snapshotOf(filesOf({ 'policy.csv': policy, 'roles.yaml': ROLES, 'ownership.yaml': ownership }))
      const table = await tableOf(made, caller('a', 'member'))
      const linesOf = (...held: readonly string[]) => table.grant(held).lines
      expect(linesOf()).to.deep.equal([])
      for (const [i, name] of names.entries()) {
        const next = names[(i + 1) % count] ?? name
        expect(linesOf(name)).to.deep.equal([i + 1])
        expect(linesOf(name, name), 'a name twice').to.deep.equal([i + 1])
        expect(linesOf(next, 'ghost', name)).to.have.members([i + 1, ((i + 1) % count) + 1])
      }
      expect(table.cellsInUse).to.have.lengthOf(1 + 2 * count)
    })
  }
})

describe('the cells of a snapshot', () => {
  /** Rules name three relations, so the two decisions of a write have 8 and 512 cells. */
  function tableWith(budget: CellBudget): GrantTable {
    const { ownership, rules } = parsePolicy(
      filesOf({
        'policy.csv':
          'p, member, docs, update, owner+colleague+draft, *, allow\np, member, docs, update, !draft, *, deny',
        'roles.yaml': ROLES,
        'ownership.yaml': OWNERSHIP,
      }),
      RESOURCES,
    )
    const isGranted: IsGranted = (_field, _held, matching) =>
      matching.length > 0 && matching.every(({ effect }) => effect === 'allow')
    const action = { name: 'update', hasFields: true }
    return new GrantTable(
      { resource: DOCS, action, rules, views: undefined, ownership: ownership.get('docs'), isGranted },
      budget,
    )
  }

  function everyCell(table: GrantTable): readonly (readonly number[])[] {
    const sets = subsets(['owner', 'colleague', 'draft']).map((set) => [...set])
    return sets.flatMap((stored) =>
      sets.flatMap((mixed) => sets.map((proposed) => table.grantResult({ stored, mixed, proposed }).lines)),
    )
  }

  it('are at most as many as their budget, and decide alike when they are made again', () => {
    const wide = new CellBudget()
    const narrow = new CellBudget(20)
    const [all, few] = [tableWith(wide), tableWith(narrow)]
    expect(everyCell(few)).to.deep.equal(everyCell(all))
    expect(few.cellsInUse.length).to.be.at.most(20)
    expect(all.cellsInUse.length, 'without a bound').to.be.greaterThan(20)
  })

  it('share the budget, whichever table they are of', () => {
    const budget = new CellBudget(20)
    const tables = [tableWith(budget), tableWith(budget)]
    for (const table of [...tables, ...tables]) everyCell(table)
    expect(tables.reduce((sum, { cellsInUse }) => sum + cellsInUse.length, 0)).to.be.at.most(20)
  })
})

describe('the snapshot that takes over', () => {
  it('has made the cells that the other has in use, and no others', async () => {
    const old = snapshot('p, member, docs, read, owner, *, allow', 'p, member, docs, read, draft, *, deny')
    const next = snapshot('p, member, docs, read, owner, *, allow', 'p, boss, docs, read, draft, *, allow')
    const used = await tableOf(old, caller('a', 'member'))
    for (const relations of [[], ['owner'], ['owner', 'draft']]) used.grant(relations)
    for await (const _ of next.warmLike(old));
    expect((await tableOf(next, caller('b', 'member'))).cellsInUse).to.have.deep.members([
      { stored: [] },
      { stored: ['owner'] },
    ])
    expect((await tableOf(next, caller('b', 'boss'))).cellsInUse).to.deep.equal([])
  })

  it('leaves out what its schemas no longer declare', async () => {
    const old = snapshot('p, member, docs, peek, any, *, allow')
    ;(await tableOf(old, caller('a', 'member'), 'peek')).grant([])
    const { byName } = RESOURCES
    const fewer = { byName: new Map([...byName].filter(([name]) => name !== 'docs')), routes: [] }
    const next = casbinPolicy(packPolicy(parsePolicy(filesOf({}), fewer)), fewer)
    for await (const _ of next.warmLike(old));
    expect(await failureOf(tableOf(next, caller('a', 'member'), 'peek'))).to.be.instanceOf(Error)
  })
})

describe('a Casbin that throws', () => {
  const rules: readonly Rule[] = [
    { line: 1, subject: 'member', resource: 'docs', actions: ['read'], before: [], views: ['one'], effect: 'allow' },
  ]
  const [action] = [...DOCS.actions.values()].filter(({ name }) => name === 'read')

  it('makes a cell and the role level throw, and leaves nothing behind', async () => {
    const views: Views = new Map([['one', new Set(['id'])]])
    let broken = true
    const inCasbin = { get: () => (broken ? fail() : views) } as unknown as ReadonlyMap<string, Views>
    const ask = await createEnforcer(rules, [{ child: 'caller:', parent: 'member' }], inCasbin)
    const isGranted: IsGranted = (field, held) => {
      return ask({ subject: 'caller:', resource: 'docs', action: 'read', held, field })
    }
    const parts = {
      resource: DOCS,
      action: action ?? fail(),
      rules,
      views,
      ownership: undefined,
      isGranted,
    }
    const table = new GrantTable(parts, new CellBudget())
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(() => table.grant([])).to.throw('broken')
      expect(() => table.roleLevel(() => true).allowed).to.throw('broken')
    }
    expect(table.cellsInUse).to.deep.equal([])
    broken = false
    expect([table.roleLevel(() => true).allowed, [...table.grant([]).fields]]).to.deep.equal([true, ['id']])
  })
})

function fail(): never {
  throw new Error('broken')
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}
