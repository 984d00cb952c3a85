/** The checks, run on facts of every kind: a stored object, one of which only the relations are known, and none. */
import { expect } from 'chai'
import fc from 'fast-check'
import { decide, decideHypothetical, type Question } from '../../src/decide/decide.ts'
import { NO_FACTS, withFacts } from '../../src/decide/facts.ts'
import { directPolicy } from '../../src/decide/grants/direct.ts'
import { problemCodeOf } from '../../src/decide/refusal.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { Endpoint, Route } from '../../src/resources/resource.ts'
import { randomCaller, randomObject } from './arbitrary.ts'
import { generousPolicy } from './arbitrary-policy.ts'
import { DOCS, RESOURCES } from './fixture.ts'
import { onObject, roleLevel } from './oracle.ts'
import { storedOf, worldOf } from './product.ts'
import { filesOf } from './render.ts'

const ITEM: Route = { path: '/docs/{id}', resource: 'docs', kind: 'item', endpoints: new Map(), allow: '' }

describe('a decision', () => {
  it('is the one that the oracle makes, of a stored object and of its relations alone', () =>
    fc.assert(
      fc.property(generousPolicy, randomCaller, randomObject, operations(), (written, asker, object, operation) => {
        const policy = directPolicy(parsePolicy(written.files, RESOURCES), RESOURCES)
        const { id, roles, claims, record } = asker
        const question = questionOf(policy.subjectOf(id === undefined ? undefined : { id, roles, claims }), operation)
        const user = () => record && storedOf({ id: id ?? null, createdAt: '', updatedAt: '', ...record })
        const facts = { ...NO_FACTS, user, object: () => storedOf(object) }
        const decision = withFacts(decide(question, policy), facts)
        const world = worldOf(written.data, DOCS, asker)
        const allowed = roleLevel(world, operation) && onObject(world, operation, object).size > 0
        expect(decision.kind === 'refused').to.equal(!allowed)
        const relations = decision.evidence?.relations ?? []
        const assumed = withFacts(decideHypothetical(question, policy, relations), { ...NO_FACTS, user })
        const refusal = assumed.kind === 'hypothetical' ? assumed.refusal : assumed
        expect(refusal?.kind === 'refused').to.equal(!allowed)
        if (decision.kind === 'refused') expect(refusal).to.have.property('check', decision.check)
      }),
    ))

  it('refuses at the first check that fails, in their order', () => {
    const rules = 'p, member, docs, read, any, *, allow'
    const files = filesOf({ 'policy.csv': rules, 'roles.yaml': 'member: { description: m }\n' })
    const policy = directPolicy(parsePolicy(files, RESOURCES), RESOURCES)
    const member = policy.subjectOf({ id: 'alice', roles: ['member'], claims: {} })
    const nobody = policy.subjectOf(undefined)
    const checkOf = (question: Question) => {
      const decision = withFacts(decide(question, policy), NO_FACTS)
      return 'check' in decision ? decision.check : decision.kind
    }
    const own: Question = { ...questionOf(nobody, 'read'), route: { ...ITEM, kind: 'caller' } }
    expect(checkOf({ ...questionOf(member, 'delete'), blocked: true })).to.equal('blocked')
    expect(checkOf(own)).to.equal('own-record')
    expect(checkOf(questionOf(member, 'delete'))).to.equal('role')
    expect(checkOf(questionOf(member, 'read'))).to.equal('missing')
    expect(checkOf({ ...questionOf(member, 'read'), id: '\0' })).to.equal('missing')
  })

  it('is refused with the code of its check, which depends on who asks', () => {
    expect(problemCodeOf({ check: 'role' }, 'anonymous')).to.equal('credentials-missing')
    expect(problemCodeOf({ check: 'role' }, 'caller')).to.equal('forbidden')
    const stepUp = { conditions: ['fresh'], maxAge: 900 }
    expect(problemCodeOf({ check: 'write', stepUp }, 'caller')).to.equal('step-up-required')
    expect(problemCodeOf({ check: 'write', stepUp }, 'anonymous')).to.equal('credentials-missing')
    expect(problemCodeOf({ check: 'concealed' }, 'anonymous')).to.equal('object-not-found')
  })
})

function operations() {
  return fc.constantFrom<'read' | 'update' | 'delete'>('read', 'update', 'delete')
}

function questionOf(subject: Question['subject'], operation: Endpoint['operation']): Question {
  const endpoint = { operation, action: operation }
  return { route: ITEM, endpoint, resource: DOCS, subject, blocked: false, id: 'o1', now: 0 }
}
