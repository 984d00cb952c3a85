/** A diff of large policies takes seconds; one of more relations than can be enumerated says so. */
import { expect } from 'chai'
import { Incomparable } from '../../../src/analysis/diff/compare-decisions.ts'
import type { OraclePolicy, OracleRelation, OracleRule } from '../../policy/world.ts'
import { diffOf } from './policy-pairs.ts'

const ROLES = Array.from({ length: 50 }, (_, i) => `role${i}`)
const ACTIONS = ['list', 'read', 'create', 'replace', 'update', 'delete']
const RELATIONS = [[], ['owner'], ['owner', 'draft'], ['draft']]

type OracleRelations = ReadonlyMap<string, OracleRelation>

/** 10,000 rules for 50 roles and 1,000 users; a quarter of them denies. */
function largePolicy(): OraclePolicy {
  const rules = Array.from({ length: 10_000 }, (_, i): OracleRule => {
    const subject = i % 3 === 0 ? `user:u${(i * 7) % 1000}` : `role${(i * 11) % 50}`
    return {
      subject,
      resource: i % 2 === 0 ? 'docs' : 'jobs',
      actions: [ACTIONS[(i * 13) % 6] ?? 'read'],
      relations: RELATIONS[(i >> 2) % 4] ?? [],
      views: i % 5 === 0 ? ['one'] : ['*'],
      effect: i % 4 === 3 ? 'deny' : 'allow',
    }
  })
  const relations = (): OracleRelations =>
    new Map<string, OracleRelation>([
      ['owner', { field: 'id', equals: 'id' }],
      ['draft', { field: 'status', in: ['draft'] }],
    ])
  return {
    roles: ROLES,
    links: ROLES.slice(0, 40).map((role, i) => ({ role, inherits: `role${i + 10}` })),
    rules,
    relations: new Map([
      ['docs', relations()],
      ['jobs', relations()],
    ]),
    views: new Map([
      ['docs', new Map([['one', ['status', 'team']]])],
      ['jobs', new Map([['one', ['status']]])],
    ]),
  }
}

function withDeny(policy: OraclePolicy): OraclePolicy {
  const deny: OracleRule = {
    subject: 'role7',
    resource: '*',
    actions: ['*'],
    relations: [],
    views: ['*'],
    effect: 'deny',
  }
  return { ...policy, rules: [...policy.rules, deny] }
}

describe('a policy diff of 10,000 rules', () => {
  it('is made, pairs of subjects included', () => {
    const policy = largePolicy()
    expect(diffOf({ before: policy, after: policy })).to.deep.equal([])
    const changes = diffOf({ before: policy, after: withDeny(policy) })
    const callers = changes.flatMap((change) => (change.kind === 'decision' ? change.callers : []))
    expect(callers.some((names) => names.length === 2 && names.includes('role7'))).to.equal(true)
    expect(callers.every((names) => names.length === 1 || names.includes('role7'))).to.equal(true)
  })
})

describe('a policy diff of many relations', () => {
  it('says that they are too many', () => {
    const policy = largePolicy()
    const names = Array.from({ length: 17 }, (_, i) => `state${i}`)
    const relations = new Map(names.map((name, i) => [name, { field: 'count', in: [i] }]))
    const rule = { subject: 'role1', resource: 'docs', actions: ['read'], views: ['*'], effect: 'allow' } as const
    // One policy may name twelve.
    const naming = (some: readonly string[]) => ({
      ...policy,
      relations: new Map([['docs', relations]]),
      rules: some.map((name) => ({ ...rule, relations: [name] })),
    })
    expect(() => diffOf({ before: naming(names.slice(0, 12)), after: naming(names.slice(5)) })).to.throw(
      Incomparable,
      /name 17 relations, but a diff compares at most/,
    )
    expect(diffOf({ before: naming(names.slice(0, 12)), after: naming(names.slice(1, 12)) })).to.have.length(1)
  })
})
