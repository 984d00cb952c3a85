/** What Casbin takes wrongly in a rule line, and that here it is refused at its place, or means what it says. */
import { expect } from 'chai'
import { createEnforcer } from '../../src/decide/casbin/casbin.ts'
import type { Rule } from '../../src/decide/policy.ts'
import { casbin, RBAC, withMatcher } from './casbin-as-is.ts'
import { faultsOf } from './diagnostics.ts'
import { DOCS } from './fixture.ts'
import { snapshotOf, tableOf } from './product.ts'
import { filesOf } from './render.ts'

const ROLES = 'admin: { description: An administrator. }\nmember: { description: A member. }\n'

function faultsOfRules(...lines: readonly string[]): readonly string[] {
  return faultsOf({ 'policy.csv': lines.join('\n'), 'roles.yaml': ROLES })
}

async function granted(
  caller: { readonly id: string; readonly roles: readonly string[] },
  ...lines: readonly string[]
) {
  const snapshot = snapshotOf(filesOf({ 'policy.csv': lines.join('\n'), 'roles.yaml': ROLES }))
  const table = await tableOf(snapshot, { ...caller, claims: {} }, DOCS, 'read')
  return table.grant([]).fields.size > 0
}

function rule(part: Partial<Rule>): Rule {
  const whole = { line: 1, subject: 'member', resource: 'docs', actions: ['*'], before: [], views: ['*'] }
  return { ...whole, effect: 'allow', ...part }
}

describe('a rule line that Casbin takes wrongly', () => {
  it('is sound when nothing is wrong with it: the refusals below have a reason', () => {
    expect(faultsOfRules('p, member, docs, read, any, *, allow', 'g, admin, member')).to.deep.equal([])
  })

  it('is one whose deny is written `Deny`: Casbin ignores it', async () => {
    const enforcer = await casbin(RBAC, 'p, member, docs, read, allow', 'p, member, docs, read, Deny')
    expect(await enforcer.enforce('member', 'docs', 'read')).to.equal(true)
    expect(faultsOfRules('p, member, docs, read, any, *, Deny')).to.deep.equal(['policy.csv:1:32 unknown-effect'])
  })

  it('is one whose effect is blank: Casbin allows', async () => {
    const enforcer = await casbin(RBAC, 'p, member, docs, read,')
    expect(await enforcer.enforce('member', 'docs', 'read')).to.equal(true)
    expect(faultsOfRules('p, member, docs, read, any, *,')).to.deep.equal(['policy.csv:1:31 unknown-effect'])
  })

  it('is one with too few columns: the empty pattern that Casbin makes of it fits every action', async () => {
    const matcher = 'g(r.sub, p.sub) && r.obj == p.obj && regexMatch(r.act, p.act)'
    const enforcer = await casbin(withMatcher(matcher), 'p, member, docs,')
    expect(await enforcer.enforce('member', 'docs', 'delete')).to.equal(true)
    expect(faultsOfRules('p, member, docs')).to.deep.equal(['policy.csv:1:16 rule-columns'])
    expect(faultsOfRules('p, member, docs, , any, *, allow')).to.deep.equal(['policy.csv:1:18 unknown-action'])
  })

  it('is one that begins with an unknown word: Casbin drops it', async () => {
    const enforcer = await casbin(RBAC, 'p, member, docs, read, allow', 'P, member, docs, read, deny')
    expect(await enforcer.enforce('member', 'docs', 'read')).to.equal(true)
    for (const kind of ['P', 'pp', 'p2', 'g2']) {
      expect(faultsOfRules(`${kind}, member, docs, read, any, *, deny`)).to.deep.equal(['policy.csv:1:1 rule-kind'])
    }
  })

  it('is one with a comment at its end: Casbin makes it part of the value', async () => {
    const enforcer = await casbin(RBAC, 'p, member, docs, read, allow', 'p, member, docs, read, deny # not yet')
    expect(await enforcer.enforce('member', 'docs', 'read')).to.equal(true)
    expect(faultsOfRules('p, member, docs, read, any, *, deny # not yet')).to.deep.equal([
      'policy.csv:1:32 unknown-effect',
    ])
  })

  it('is one with a parenthesis: Casbin joins columns to find the other', async () => {
    const enforcer = await casbin(RBAC, 'p, user:(x, docs, read, user:), deny')
    expect(await enforcer.getPolicy()).to.deep.equal([['user:(x,docs,read,user:)', 'deny']])
    const lines = ['p, user:(x, docs, read, any, *, allow']
    expect(await granted({ id: '(x', roles: [] }, ...lines)).to.equal(true)
    expect(await granted({ id: 'x', roles: [] }, ...lines)).to.equal(false)
  })

  it('is one that stands twice: Casbin keeps both; here it changes nothing', async () => {
    const line = 'p, member, docs, read, any, *, allow'
    const enforcer = await casbin(RBAC, 'p, member, docs, read, allow', 'p, member, docs, read, allow')
    expect(await enforcer.getPolicy()).to.have.length(2)
    expect(await granted({ id: 'm', roles: ['member'] }, line, line)).to.equal(true)
    expect(await granted({ id: 'm', roles: ['member'] }, line, line, line.replace('allow', 'deny'))).to.equal(false)
  })

  it('is one for a user whose id is a role: Casbin has one name space', async () => {
    const enforcer = await casbin(RBAC, 'p, admin, docs, read, allow')
    expect(await enforcer.enforce('admin', 'docs', 'read')).to.equal(true)
    const lines = ['p, admin, docs, read, any, *, allow']
    expect(await granted({ id: 'admin', roles: [] }, ...lines)).to.equal(false)
    expect(await granted({ id: 'x', roles: ['user:admin'] }, ...lines)).to.equal(false)
    expect(await granted({ id: 'x', roles: ['admin'] }, 'p, user:admin, docs, read, any, *, allow')).to.equal(false)
    expect(await granted({ id: 'admin', roles: [] }, 'p, user:admin, docs, read, any, *, allow')).to.equal(true)
  })
})

describe('names that look alike', () => {
  it('are different actions: Casbin has `FORGET` fit `GET`', async () => {
    const enforcer = await casbin(withMatcher('regexMatch(r.act, p.act)'), 'p, x, y, GET, allow')
    expect(await enforcer.enforce('x', 'y', 'FORGET')).to.equal(true)
    const ask = await createEnforcer([rule({ actions: ['get'] })], [], new Map())
    const asked = (action: string) =>
      ask({ subject: 'member', resource: 'docs', action, held: { stored: [] }, field: '*' })
    expect(asked('get')).to.equal(true)
    expect(['forget', 'gets', 'GET', '', 'get|list', '*'].map(asked)).to.deep.equal(Array(6).fill(false))
  })

  it('are different resources: for Casbin a `*` is the whole tail, and a dot any character', async () => {
    const tail = await casbin(withMatcher('keyMatch(r.obj, p.obj)'), 'p, x, /a/*/read, y, allow')
    expect(await tail.enforce('x', '/a/x/delete', 'y')).to.equal(true)
    const dot = await casbin(withMatcher('keyMatch2(r.obj, p.obj)'), 'p, x, /a.b, y, allow')
    expect(await dot.enforce('x', '/aXb', 'y')).to.equal(true)
    const ask = await createEnforcer([rule({ resource: 'a.b' }), rule({ resource: 'system/*' })], [], new Map())
    const asked = (resource: string) =>
      ask({ subject: 'member', resource, action: 'read', held: { stored: [] }, field: '*' })
    expect(['a.b', 'system/health', 'system/a/b'].map(asked)).to.deep.equal([true, true, true])
    expect(['aXb', 'a.bc', 'xa.b', 'system', 'systemX', 'docs'].map(asked)).to.deep.equal(Array(6).fill(false))
  })

  it('are not found on prototypes: for Casbin `toString` is in every object', async () => {
    const enforcer = await casbin(withMatcher('r.act in r.obj'), 'p, x, y, z, allow')
    expect(await enforcer.enforce('x', {}, 'toString')).to.equal(true)
    const views = new Map([['docs', new Map([['one', new Set(['secret'])]])]])
    const ask = await createEnforcer([rule({ views: ['one'] })], [], views)
    const asked = (field: string) =>
      ask({ subject: 'member', resource: 'docs', action: 'read', held: { stored: [] }, field })
    expect(['secret', 'toString', 'constructor', '__proto__'].map(asked)).to.deep.equal([true, false, false, false])
    expect(faultsOfRules('p, toString, docs, constructor, valueOf, __proto__, allow')).to.deep.equal([
      'policy.csv:1:4 unknown-role',
      'policy.csv:1:20 unknown-action',
      'policy.csv:1:33 unknown-relation',
      'policy.csv:1:42 unknown-view',
    ])
    expect(await granted({ id: 'x', roles: ['toString', 'constructor', '__proto__'] })).to.equal(false)
  })

  it('are never read as addresses: Casbin throws for what is none', async () => {
    const enforcer = await casbin(withMatcher('ipMatch(r.sub, p.sub)'), 'p, 10.0.0.0/8, y, z, allow')
    const outcome = await enforcer.enforce('member', 'y', 'z').then(
      () => 'answered',
      () => 'threw',
    )
    expect(outcome).to.equal('threw')
    expect(await granted({ id: '10.0.0.1', roles: [] }, 'p, user:10.0.0.0/8, docs, read, any, *, allow')).to.equal(
      false,
    )
  })
})
