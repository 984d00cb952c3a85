/** What Casbin does while it loads, and with many rules or links; and that here none of it can change a decision. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Adapter, newEnforcer, newModelFromString, StringAdapter } from 'casbin'
import { expect } from 'chai'
import { FileError } from '../../src/base/diagnostic.ts'
import { LivePolicy } from '../../src/policy/live/live-policy.ts'
import { policyFolderSource } from '../../src/policy/policy-source.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { casbin, RBAC, withMatcher } from './casbin-as-is.ts'
import { faultsOf } from './diagnostics.ts'
import { DOCS, RESOURCES } from './fixture.ts'
import { snapshotOf, tableOf } from './product.ts'
import { filesOf } from './render.ts'

const BASE = fileURLToPath(new URL('base', import.meta.url))

describe('a policy that is loaded again', () => {
  it('is empty in Casbin when the adapter fails, and lets what a lost deny refused', async () => {
    const lines = ['p, member, docs, read, allow', 'p, member, docs, read, deny']
    const enforcer = await casbin(RBAC, ...lines)
    expect(await enforcer.enforce('member', 'docs', 'read')).to.equal(false)
    enforcer.setAdapter(new StringAdapter([lines[0], 'p, (', lines[1]].join('\n')))
    expect(await failed(enforcer.loadPolicy())).to.equal(true)
    expect(await enforcer.enforce('member', 'docs', 'read'), 'the deny is lost').to.equal(true)
    enforcer.setAdapter(new StringAdapter(''))
    expect(await failed(enforcer.loadPolicy())).to.equal(true)
    expect(await enforcer.getPolicy()).to.deep.equal([])
  })

  it('answers wrongly in Casbin while an asynchronous adapter loads', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const enforcer = await casbin(RBAC, 'p, member, docs, read, allow')
    const slow = new StringAdapter('p, member, docs, read, allow')
    const adapter: Adapter = Object.assign(Object.create(slow), {
      loadPolicy: async (model: Parameters<Adapter['loadPolicy']>[0]) => {
        await promise
        await slow.loadPolicy(model)
      },
    })
    enforcer.setAdapter(adapter)
    const loading = enforcer.loadPolicy()
    expect(await enforcer.enforce('member', 'docs', 'read'), 'meanwhile').to.equal(false)
    resolve()
    await loading
    expect(await enforcer.enforce('member', 'docs', 'read')).to.equal(true)
  })

  it('stays as it was here when the new one is broken, and is swapped whole when it is not', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sallyport-policy-'))
    try {
      await cp(BASE, directory, { recursive: true })
      const live = await LivePolicy.open({
        source: policyFolderSource(directory),
        resources: RESOURCES,
        observe: () => {},
      })
      const before = live.active
      const table = await tableOf(before.snapshot, { id: 'm', roles: ['member'], claims: {} }, DOCS, 'read')
      expect(table.grant(['owner']).fields.size).to.be.greaterThan(0)

      await writeFile(
        join(directory, 'policy.csv'),
        'p, member, docs, read, owner, *, allow\np, (\np, member, docs, read, any, *, deny\n',
      )
      await live.reload()
      expect(live.active).to.equal(before)
      expect(live.faults[0]).to.be.instanceOf(FileError)

      await writeFile(join(directory, 'policy.csv'), 'p, member, docs, read, any, *, deny\n')
      await live.reload()
      expect(live.faults).to.deep.equal([])
      const after = await tableOf(live.active.snapshot, { id: 'm', roles: ['member'], claims: {} }, DOCS, 'read')
      expect(after.grant(['owner']).fields.size).to.equal(0)
      expect(table.grant(['owner']).fields.size, 'who asked before has the old snapshot').to.be.greaterThan(0)
    } finally {
      await removeFolder(directory)
    }
  })
})

describe('a chain of roles', () => {
  const roles = Array.from({ length: 31 }, (_, i) => `r${i}`)
  const links = roles.slice(1).map((role, i) => `g, ${role}, r${i}`)
  const files = filesOf({
    'policy.csv': ['p, r0, docs, read, any, *, allow', ...links].join('\n'),
    'roles.yaml': roles.map((role) => `${role}: { description: A role. }`).join('\n'),
  })

  it('ends in Casbin after ten links, in silence; here it has no end', async () => {
    const enforcer = await casbin(RBAC, 'p, r0, docs, read, allow', ...links)
    const byCasbin = await Promise.all(roles.map((role) => enforcer.enforce(role, 'docs', 'read')))
    expect(byCasbin.lastIndexOf(true)).to.equal(10)
    const snapshot = snapshotOf(files)
    for (const role of roles) {
      const table = await tableOf(snapshot, { id: 'x', roles: [role], claims: {} }, DOCS, 'read')
      expect(table.grant([]).fields.size, role).to.equal(DOCS.fields.size)
    }
  })

  it('is walked by Casbin again and again where it branches; here each role is visited once', async () => {
    const twice = Array.from({ length: 60 }, (_, i) => [
      `g, a${i}, a${i + 1}`,
      `g, a${i}, b${i + 1}`,
      `g, b${i}, a${i + 1}`,
      `g, b${i}, b${i + 1}`,
    ]).flat()
    const names = Array.from({ length: 61 }, (_, i) => [`a${i}`, `b${i}`]).flat()
    const snapshot = snapshotOf(
      filesOf({
        'policy.csv': ['p, a60, docs, read, any, *, allow', ...twice].join('\n'),
        'roles.yaml': names.map((role) => `${role}: { description: A role. }`).join('\n'),
      }),
    )
    expect(snapshot.subjectOf({ id: 'x', roles: ['a0'], claims: {} }).roles.size).to.equal(121)
  })

  it('that ends where it began is refused, at each of its links', () => {
    const cyclic = ['g, r0, r1', 'p, r0, docs, read, any, *, allow', 'g, r1, r2', 'g, r2, r0', 'g, r3, r0', 'g, r4, r4']
    expect(faultsOf({ 'policy.csv': cyclic.join('\n'), 'roles.yaml': files['roles.yaml'].text })).to.deep.equal([
      'policy.csv:1:1 role-cycle',
      'policy.csv:3:1 role-cycle',
      'policy.csv:4:1 role-cycle',
      'policy.csv:6:1 role-cycle',
    ])
  })
})

describe('a policy of many rules', () => {
  const MANY = 200_000

  it('costs Casbin a walk over every rule at each request; here a table asks once, and of its own rules', async () => {
    let calls = 0
    const rules = Array.from({ length: 500 }, (_, i) => `p, user${i}, docs, read, allow`)
    const enforcer = await casbin(withMatcher('counted(r.sub, p.sub)'), ...rules)
    await enforcer.addFunction('counted', () => {
      calls++
      return false
    })
    await enforcer.enforce('x', 'docs', 'read')
    expect(calls).to.equal(500)

    const lines = Array.from({ length: 500 }, (_, i) => `p, user:u${i}, docs, read, any, *, allow`)
    const snapshot = snapshotOf(filesOf({ 'policy.csv': lines.join('\n') }))
    const table = await tableOf(snapshot, { id: 'u7', roles: [], claims: {} }, DOCS, 'read')
    expect(table.roleLevel(() => true).lines).to.deep.equal([8])
    expect(table.grant(['x'])).to.equal(table.grant([]))
  })

  it('makes `getPolicy` of Casbin throw at 200,000; here it is parsed and decides', async () => {
    const enforcer = await newEnforcer(newModelFromString(RBAC))
    const assertion = enforcer.getModel().model.get('p')?.get('p')
    if (assertion) assertion.policy = Array.from({ length: MANY }, () => ['x', 'docs', 'read', 'allow'])
    expect(await failed(enforcer.getPolicy())).to.equal(true)

    const lines = Array.from({ length: MANY }, (_, i) => `p, user:u${i}, docs, read, any, *, allow`)
    const snapshot = snapshotOf(filesOf({ 'policy.csv': lines.join('\n') }))
    const table = await tableOf(snapshot, { id: 'u199999', roles: [], claims: {} }, DOCS, 'read')
    expect(table.grant([]).fields.size).to.equal(DOCS.fields.size)
  })
})

async function failed(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => false,
    () => true,
  )
}
