/** A request under a policy of the second edition, recorded and replayed: under that policy, and under another one. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { compare } from '../../src/analysis/replay/compare.ts'
import { type Again, decideAgain } from '../../src/analysis/replay/decide-again.ts'
import { stageOf } from '../../src/base/problems/catalogue.ts'
import type { Facts } from '../../src/decide/evidence.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import type { ActivePolicy } from '../../src/policy/live/active-policy.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { randomAsked } from '../policy/arbitrary-language.ts'
import { ORACLE_RESOURCES } from '../policy/language-fixture.ts'
import type { OracleCondition, OracleRelation, Plain, World } from '../policy/world.ts'
import { drawing, runs } from '../runs.ts'
import { activeOf, answerOf, candidateOf, randomPair, serve } from './live-language.ts'

type Replay = (policy: ActivePolicy, resources: Resources, record: DecisionRecord) => Promise<Again>

const product: Replay = (policy, resources, record) => decideAgain({ resources, policyAt: () => policy }, record)

function toldOf(record: DecisionRecord, again: Again): string {
  if (again.kind === 'undecidable' || again.kind === 'unconcerned') return again.kind
  return compare(record, again)?.change ?? 'the same'
}

/** `seen` counts what replays come to. */
function replaysUnderItsOwn(replay: Replay, seen = new Map<string, number>()) {
  return fc.asyncProperty(randomAsked, async (asked) => {
    const { record, resources } = await serve(activeOf(asked.world, 'a'), asked)
    const again = await replay(activeOf(asked.world, 'a'), resources, record)
    for (const what of [record.problem ?? 'allowed', ...Object.keys(record.facts ?? {})]) count(seen, what)
    expect([toldOf(record, again), again.kind === 'undecidable' ? again.why : '']).to.deep.equal(['the same', ''])
  })
}

function replaysAs(replay: Replay, seen = new Map<string, number>()) {
  return fc.asyncProperty(randomPair, async ({ asked, policy }) => {
    const candidate = candidateOf(policy, asked)
    if (!candidate) return
    const was = await serve(activeOf(asked.world, 'a'), asked)
    const is = await serve(candidate, asked)
    const again = await replay(candidate, was.resources, was.record)
    const told = toldOf(was.record, again)
    count(seen, told)
    if (again.kind === 'undecidable') expect(again.why).to.match(/^the record doesn't hold /)
    if (told === 'the same') expect(answerOf(is)).to.deep.equal(answerOf(was))
    if (again.kind === 'allowed') {
      expect(is.record.problem && stageOf(is.record.problem)).to.not.equal('policy')
      if (again.decision.kind === 'list')
        expect(JSON.parse(JSON.stringify(again.decision.where))).to.deep.equal(is.record.facts?.where)
    }
    if (again.kind === 'refused') {
      expect([again.problem, again.fieldsRefused.toSorted()]).to.deep.equal([
        is.record.problem,
        (is.record.fieldsRefused ?? []).toSorted(),
      ])
    }
  })
}

function count(seen: Map<string, number>, what: string): void {
  seen.set(what, (seen.get(what) ?? 0) + 1)
}

const tampered = (tamper: (facts: Facts) => Facts): Replay => {
  return (policy, resources, { facts, ...record }) =>
    product(policy, resources, { ...record, ...(facts ? { facts: tamper(facts) } : {}) })
}

const flipped = (held: Facts['related']) =>
  held && Object.fromEntries(Object.entries(held).map(([name, holds]) => [name, !holds]))

describe('a random request under a policy of the second edition', () => {
  it('has the same answer when it is replayed under that policy, and none is undecidable', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () => fc.assert(replaysUnderItsOwn(product, seen), { numRuns: runs(800) }),
      () => {
        for (const what of ['allowed', 'forbidden', 'object-not-found', 'related', 'conditions']) {
          expect(seen.get(what), what).to.be.greaterThan(0)
        }
      },
    )
  })

  it('is answered as another policy would have answered it, or is undecidable', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () => fc.assert(replaysAs(product, seen), { numRuns: runs(800) }),
      () => {
        for (const told of ['the same', 'refused-now', 'allowed-now', 'undecidable']) {
          expect(seen.get(told), told).to.be.greaterThan(0)
        }
      },
    )
  })

  const wrong: Readonly<Record<string, Replay>> = {
    'takes related objects for their opposite': tampered(({ related, ...facts }) => {
      return { ...facts, ...(related ? { related: flipped(related) ?? {} } : {}) }
    }),
    'takes conditions for their opposite': tampered(({ conditions, ...facts }) => {
      return { ...facts, ...(conditions ? { conditions: flipped(conditions) ?? {} } : {}) }
    }),
    'forgets how relations were defined': tampered(({ definitions, ...facts }) => facts),
  }
  for (const [fault, replay] of Object.entries(wrong)) {
    it(`is compared so that a replay is found out that ${fault}`, async () => {
      const outcome = await fc.check(replaysUnderItsOwn(replay), { numRuns: 20_000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

describe('a recorded answer', () => {
  const rule = { subject: 'everyone', resource: 'tasks', actions: ['read'], views: ['*'], effect: 'allow' } as const
  const some = { some: 'memberships', where: 'projectId', relation: 'self' }
  const ofMemberships = new Map<string, OracleRelation>([['self', { field: 'userId', equals: 'id' }]])
  const member = { through: 'projectId', to: 'projects', relation: 'member' }
  const policyOf = (
    name: string,
    {
      relations = { member },
      projects = { member: some },
      conditions = {},
    }: {
      relations?: Record<string, OracleRelation>
      projects?: Record<string, OracleRelation>
      conditions?: Record<string, OracleCondition>
    } = {},
  ): World['policy'] => ({
    roles: [],
    links: [],
    views: new Map(),
    rules: [{ ...rule, relations: name.split('+').filter((one) => one !== 'any') }],
    relations: new Map([
      ['tasks', new Map(Object.entries(relations))],
      ['projects', new Map(Object.entries(projects))],
      ['memberships', ofMemberships],
    ]),
    conditions: new Map(Object.entries(conditions)),
  })
  const [tasks] = ORACLE_RESOURCES
  const objects: NonNullable<World['objects']> = new Map<string, readonly Plain[]>([
    ['tasks', [{ id: 't', projectId: 'p' }]],
    ['projects', [{ id: 'p' }]],
    ['memberships', [{ id: 'm', projectId: 'p', userId: 'u1' }]],
  ])
  const now = Date.parse('2026-11-20T10:00:00Z')
  const caller = { id: 'u1', roles: [], claims: {}, credential: 'password', authTime: now - 60_000 }

  async function replayed(
    then: World['policy'],
    candidate: World['policy'],
    edit: (record: DecisionRecord) => DecisionRecord = (record) => record,
  ) {
    if (!tasks) throw new Error('there are no tasks')
    const world: World = { policy: then, resource: tasks, caller, objects, now, address: '2001:db8::1' }
    const { record, resources } = await serve(activeOf(world, 'a'), {
      world,
      request: { action: 'read', id: 't' },
      viewName: undefined,
    })
    const again = await product(activeOf({ policy: candidate, now }, 'b'), resources, edit(record))
    return again.kind === 'undecidable' ? again.why : toldOf(record, again)
  }

  it('about related objects counts where the relation is defined alike, whatever its name', async () => {
    const renamed = policyOf('staff', { relations: { staff: { ...member, relation: 'on' } }, projects: { on: some } })
    expect(await replayed(policyOf('member'), renamed)).to.equal('the same')
    expect(await replayed(policyOf('member'), policyOf('!member'))).to.equal('refused-now')
  })

  it('about related objects counts nowhere else: the request is undecidable, and the relation is named', async () => {
    const why = "the record doesn't hold whether the relation `member` held"
    const led = policyOf('member', { projects: { member: { field: 'leadId', equals: 'id' } } })
    expect(await replayed(policyOf('member'), led), 'another relation of the project').to.equal(why)
    expect(await replayed(policyOf('!member'), led), 'a request that was refused').to.equal(why)
    expect(await replayed(policyOf('any'), policyOf('member')), 'a relation that no rule named').to.equal(why)
  })

  it('about the request follows from its time, its network and its sign-in, as far as they are recorded', async () => {
    const under = (condition: OracleCondition, edit?: (record: DecisionRecord) => DecisionRecord) =>
      replayed(policyOf('any'), policyOf('asked', { conditions: { asked: condition } }), edit)
    const hours = { days: 'mon-fri', from: '08:00', to: '18:00', zone: 'Europe/Berlin' }
    expect(await under(hours)).to.equal('the same')
    expect(await under({ ...hours, to: '10:00' })).to.equal('refused-now')
    expect(await under({ network: ['2001:db8::/32'] })).to.equal('the same')
    expect(await under({ network: ['2001:db8::/96'] })).to.equal("the record doesn't hold the client's whole address")
    expect(await under({ credential: ['api-key'] })).to.equal('refused-now')
    expect(await under({ signedIn: { within: '5m' } })).to.equal('the same')
    expect(await under({ signedIn: { within: '5m' } }, ({ signedIn, ...record }) => record)).to.equal(
      "the record doesn't hold when and how the caller signed in",
    )
    const fine = policyOf('asked', { conditions: { asked: { network: ['2001:db8::/96'] } } })
    expect(await replayed(fine, fine), 'it was recorded').to.equal('the same')
  })
})
