/** A candidate is compared with a baseline, not with the policy of the log: earlier edits are no differences. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { reachOf } from '../../src/analysis/replay/compare.ts'
import { decideAgain } from '../../src/analysis/replay/decide-again.ts'
import { meets } from '../../src/decide/conditions/condition.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import type { ActivePolicy } from '../../src/policy/live/active-policy.ts'
import type { Revision } from '../../src/policy/policy-files.ts'
import { recordUnder } from '../../src/tools/replay/replay.ts'
import { randomObject } from '../policy/arbitrary.ts'
import { generousPolicy } from '../policy/arbitrary-policy.ts'
import { drawing, runs } from '../runs.ts'
import { activeOf, answerOf, live, randomRequest, tellOf, WITH_ROUTES } from './live-decision.ts'

type Baseline = (baseline: ActivePolicy, record: DecisionRecord) => ReturnType<typeof recordUnder>

const on = (policy: ActivePolicy) => ({ resources: WITH_ROUTES, policyAt: () => policy })

const product: Baseline = (baseline, record) => recordUnder(on(baseline), record)

const requests = fc.oneof(
  { weight: 2, arbitrary: randomRequest },
  { weight: 1, arbitrary: randomRequest.map((one) => ({ ...one, action: 'read', fate: 'none' }) as const) },
)

/** `seen` counts what replays come to. */
function comparesWith(baselineOf: Baseline, seen: Map<string, number>) {
  const policies = fc.tuple(generousPolicy, generousPolicy, generousPolicy, fc.boolean())
  return fc.asyncProperty(policies, requests, async ([logged, present, next, isSame], request) => {
    const [baseline, candidate] = [activeOf(present), activeOf(isSame ? present : next)]
    const { record } = await live(activeOf(logged), request)
    const then = await baselineOf(baseline, record)
    if ('kind' in then) {
      expect(then.why).to.match(/^the (record|object|body)/)
      return
    }
    const told = tellOf(then, await decideAgain(on(candidate), then))
    seen.set(told, (seen.get(told) ?? 0) + 1)
    if (isSame) expect(told).to.be.oneOf(['the same', 'undecidable', 'unconcerned'])
    const [was, is] = [answerOf(await live(baseline, request)), answerOf(await live(candidate, request))]
    if (told === 'the same') expect(is).to.deep.equal(was)
    else if (!['undecidable', 'unconcerned', 'perhaps-allowed-now'].includes(told)) expect(is).to.not.deep.equal(was)
  })
}

/** A record that the log's own rules made, decided again by the same rules under another name. */
function sameRulesAnswerAlike(recorded: (record: DecisionRecord) => DecisionRecord, seen: Map<string, number>) {
  return fc.asyncProperty(generousPolicy, randomRequest, async (policy, request) => {
    const active = activeOf(policy)
    const record = recorded((await live(active, request)).record)
    const told = tellOf(record, await decideAgain(on({ ...active, revision: 'other' as Revision }), record))
    const isRefusedPut = record.method === 'PUT' && record.problem === 'field-forbidden'
    seen.set(isRefusedPut ? 'a refused PUT' : told, (seen.get(isRefusedPut ? 'a refused PUT' : told) ?? 0) + 1)
    expect(told).to.be.oneOf(['the same', 'undecidable', 'unconcerned'])
  })
}

/** Of two policies, what the same list is filtered by; and objects. */
const lists = fc.tuple(generousPolicy, generousPolicy, randomRequest, fc.array(randomObject))

function isTold(reach: typeof reachOf, seen: Map<string, number>) {
  return fc.asyncProperty(lists, async ([one, two, drawn, objects]) => {
    const request = { ...drawn, action: 'list', fate: 'none', query: new Map() } as const
    const filterOf = async (policy: typeof one) => (await live(activeOf(policy), request)).record.facts?.where
    const [was, becomes] = [await filterOf(one), await filterOf(two)]
    if (!was || !becomes) return
    const told = reach(was, becomes)
    seen.set(String(told), (seen.get(String(told)) ?? 0) + 1)
    const [narrow, wide] = told === 'narrower' ? [becomes, was] : [was, becomes]
    const strays = objects.filter((object) => meets(narrow, object) && !meets(wide, object))
    if (told) expect(strays).to.deep.equal([])
  })
}

describe('a replay with a baseline', () => {
  it('tells what differs between the baseline and the candidate, whatever the policy of the log', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () => fc.assert(comparesWith(product, seen), { numRuns: runs(1500, 500) }),
      () => {
        for (const told of ['the same', 'refused-now', 'allowed-now', 'other-fields']) {
          expect(seen.get(told), told).to.be.above(0)
        }
        expect(seen.get('undecidable') ?? 0).to.be.below((seen.get('the same') ?? 0) / 3)
      },
    )
  })

  it('would not if the answers of the log were the baseline', async () => {
    const log: Baseline = async (_baseline, record) => record
    const outcome = await fc.check(comparesWith(log, new Map()), { numRuns: 3000, seed: 1, endOnFailure: true })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })

  it('says that rules answer as they did, also where a write was refused', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () =>
        fc.assert(
          sameRulesAnswerAlike((record) => record, seen),
          { numRuns: runs(1500, 500) },
        ),
      () => expect(seen.get('a refused PUT'), JSON.stringify([...seen])).to.be.above(0),
    )
  })

  it('would not if the record of a refused PUT left out the fields that it would remove', async () => {
    const without = ({ facts: { removed: _, ...facts } = {}, ...record }: DecisionRecord) => ({ ...record, facts })
    const outcome = await fc.check(sameRulesAnswerAlike(without, new Map()), {
      numRuns: 3000,
      seed: 1,
      endOnFailure: true,
    })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })

  it('says that a list has fewer or more objects where each object is so', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () => fc.assert(isTold(reachOf, seen), { numRuns: runs(600) }),
      () => {
        for (const reach of ['narrower', 'wider']) expect(seen.get(reach), reach).to.be.above(0)
      },
    )
  })

  it('would not if it guessed', async () => {
    const guess = fc.check(
      isTold(() => 'wider', new Map()),
      { numRuns: 3000, seed: 1, endOnFailure: true },
    )
    expect((await guess).errorInstance).to.be.instanceOf(AssertionError)
  })
})
