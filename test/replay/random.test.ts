import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { CHANGES, compare } from '../../src/analysis/replay/compare.ts'
import { type Again, decideAgain } from '../../src/analysis/replay/decide-again.ts'
import { stageOf } from '../../src/base/problems/catalogue.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import type { ActivePolicy } from '../../src/policy/live/active-policy.ts'
import { generousPolicy, type WrittenPolicy } from '../policy/arbitrary-policy.ts'
import { filesOf } from '../policy/render.ts'
import { drawing, runs } from '../runs.ts'
import {
  type ActionName,
  activeOf,
  answerOf,
  live,
  type Request,
  randomRequest,
  tellOf,
  WITH_ROUTES,
} from './live-decision.ts'

type Replay = (policy: ActivePolicy, record: DecisionRecord) => Promise<Again>

const product: Replay = (policy, record) => decideAgain({ resources: WITH_ROUTES, policyAt: () => policy }, record)

interface Drawn {
  readonly requests: fc.Arbitrary<Request>
  readonly before: fc.Arbitrary<Pick<WrittenPolicy, 'files'>>
}

/** `seen` counts what replays come to. */
function replaysAs(
  replay: Replay,
  seen: Map<string, number>,
  { requests = randomRequest, before = generousPolicy }: Partial<Drawn> = {},
) {
  return fc.asyncProperty(before, generousPolicy, requests, async (then, now, request) => {
    const candidate = activeOf(now)
    const was = await live(activeOf(then), request)
    const again = await replay(candidate, was.record)
    const is = await live(candidate, request)
    const told = tellOf(was.record, again)
    seen.set(told, (seen.get(told) ?? 0) + 1)
    if (again.kind === 'undecidable') expect(again.why).to.match(/^the record doesn't hold /)
    if (told === 'the same') expect(answerOf(is)).to.deep.equal(answerOf(was))
    if (again.kind === 'allowed') {
      expect(is.record.problem && stageOf(is.record.problem)).to.not.equal('policy')
      if (again.decision.kind === 'list') expect(again.decision.where).to.deep.equal(is.record.facts?.where)
    }
    if (again.kind === 'refused') {
      expect([again.problem, again.fieldsRefused.toSorted()]).to.deep.equal([
        is.record.problem,
        (is.record.fieldsRefused ?? []).toSorted(),
      ])
    }
  })
}

describe('a random request, replayed under another policy', () => {
  it('is answered as that policy would have answered it', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () => fc.assert(replaysAs(product, seen), { numRuns: runs(1500) }),
      () => {
        for (const told of ['the same', ...CHANGES.filter((change) => change !== 'other-objects')]) {
          expect(seen.get(told), told).to.be.greaterThan(0)
        }
        const undecidable = seen.get('undecidable') ?? 0
        expect(undecidable, 'of all').to.be.lessThan([...seen.values()].reduce((sum, count) => sum + count, 0) / 3)
      },
    )
  })

  it('knows a field that came to be null as one that changed', async () => {
    const filesWith = (rule: string) =>
      activeOf({ files: filesOf({ 'policy.csv': rule, 'views.yaml': 'docs: { opened: [open] }' }) })
    const candidate = filesWith('p,everyone,docs,*,any,*,allow\np,everyone,docs,replace,any,opened,deny\n')
    const request: Request = {
      caller: { id: 'u1', roles: [], claims: {} },
      action: 'replace',
      stored: { id: 'o1' },
      other: { open: null },
      named: ['open'],
      fate: 'none',
      query: new Map(),
    }
    const { record } = await live(filesWith('p,everyone,docs,*,any,*,allow\n'), request)
    const again = await product(candidate, record)
    expect(again).to.deep.include({ kind: 'refused', problem: 'field-forbidden', fieldsRefused: ['open'] })
  })

  const tampered = (tamper: (record: DecisionRecord) => DecisionRecord): Replay => {
    return (policy, record) => product(policy, tamper(record))
  }
  const about = (...actions: readonly ActionName[]) =>
    fc
      .tuple(randomRequest, fc.constantFrom(...actions))
      .map(([request, action]): Request => ({ ...request, action, fate: 'none' }))
  const wrong: Readonly<Record<string, readonly [Replay, fc.Arbitrary<Request>]>> = {
    'forgets which fields changed': [
      tampered(({ facts, ...record }) => ({ ...record, facts: { ...facts, changed: [] } })),
      about('update'),
    ],
    'forgets what the body named': [
      tampered(({ facts, ...record }) => ({ ...record, facts: { ...facts, named: [] } })),
      about('create', 'update'),
    ],
    'takes the stored object for the proposed one': [
      tampered(({ facts, ...record }) => {
        return { ...record, facts: { ...facts, proposed: facts?.object } as DecisionRecord['facts'] }
      }),
      about('update'),
    ],
    'forgets the roles': [tampered((record) => ({ ...record, roles: [] })), randomRequest],
    'forgets what a query asked for': [
      tampered(({ facts, ...record }) => ({ ...record, facts: { ...facts, queried: [] } })),
      about('list'),
    ],
  }

  const open = { files: filesOf({ 'policy.csv': 'p,everyone,docs,*,any,*,allow\n' }) }
  for (const [fault, [replay, requests]] of Object.entries(wrong)) {
    it(`is compared so that a replay is found out that ${fault}`, async () => {
      const property = replaysAs(replay, new Map(), { requests, before: fc.constant(open) })
      const outcome = await fc.check(property, { numRuns: 20_000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

describe('a request that was refused after the policy had let it pass', () => {
  const EVERYTHING = 'p,everyone,docs,*,any,*,allow\n'
  const views = 'docs: { some: [id, team, status, open], secrets: [secret] }'
  const ownership = 'docs: { relations: { draft: { field: status, in: [draft] }, owner: ownerId } }'
  const under = (rules: string) =>
    activeOf({ files: filesOf({ 'policy.csv': rules, 'views.yaml': views, 'ownership.yaml': ownership }) })
  const request: Request = {
    caller: { id: 'u1', roles: [], claims: {} },
    action: 'update',
    stored: { id: 'o1', ownerId: 'u1', status: 'draft', secret: 's' },
    other: { secret: 't', team: 'red' },
    named: ['secret'],
    fate: 'none',
    query: new Map(),
  }
  const replayed = async (then: string, now: string, changes: Partial<Request>) => {
    const { record } = await live(under(then), { ...request, ...changes })
    const again = await product(under(now), record)
    const difference = again.kind === 'undecidable' || again.kind === 'unconcerned' ? again : compare(record, again)
    return { problem: record.problem, difference }
  }
  const hidden = `${EVERYTHING}p,everyone,docs,read|update|replace|create,any,secrets,deny\n`

  for (const [fate, problem, status] of [
    ['unmet', 'precondition-failed', 412],
    ['unfit', 'invalid-body', 400],
    ['conflict', 'patch-conflict', 409],
  ] as const) {
    it(`with ${status} ${problem} is refused otherwise where its fields are refused`, async () => {
      const { problem: then, difference } = await replayed(EVERYTHING, hidden, { fate })
      expect(then).to.equal(problem)
      expect(difference).to.deep.include({
        change: 'refused-otherwise',
        was: `${status} ${problem}`,
        becomes: '403 field-forbidden',
        fields: { was: [], becomes: ['secret'] },
      })
      expect((await replayed(EVERYTHING, hidden, { fate, named: ['team'] })).difference).to.equal(undefined)
    })
  }

  it('because its body could not be read is the same, whatever may be written', async () => {
    expect(await replayed(EVERYTHING, hidden, { fate: 'unreadable' })).to.deep.equal({
      problem: 'invalid-json',
      difference: undefined,
    })
  })

  const some = 'p,everyone,docs,list,any,some,allow\n'

  it('because of a filter that the candidate allows is allowed now, unless it is at fault in itself', async () => {
    const list = { action: 'list', query: new Map([['ownerId', 'u1']]) } as const
    const { problem, difference } = await replayed(some, EVERYTHING, list)
    expect([problem, difference]).to.deep.equal([
      'invalid-query',
      { change: 'allowed-now', was: '400 invalid-query', becomes: 'allowed', lines: [1] },
    ])
    const faulty = { ...list, query: new Map([...list.query, ['sort', 'nothing']]) }
    expect(await replayed(some, EVERYTHING, faulty)).to.deep.equal({ problem: 'invalid-query', difference: undefined })
  })

  it('because of a field to show that the candidate shows is allowed now, and the other way round', async () => {
    const list = { action: 'list', query: new Map([['fields', 'id,secret']]) } as const
    expect((await replayed(some, EVERYTHING, list)).difference).to.deep.include({ change: 'allowed-now' })
    expect((await replayed(EVERYTHING, some, list)).difference).to.deep.include({
      change: 'refused-now',
      becomes: '400 invalid-query',
      fields: { was: [], becomes: ['secret'] },
    })
    const both = { action: 'list', query: new Map([['fields', 'id,team']]) } as const
    expect((await replayed(EVERYTHING, some, both)).difference, 'both show what is asked for').to.equal(undefined)
  })

  it('is undecidable where only the rows of a list tell', async () => {
    const drafts = `${some}p,everyone,docs,list,draft,*,allow\n`
    const owned = `${some}p,everyone,docs,list,owner,*,allow\n`
    const why = "the record doesn't hold which fields each row showed"
    const list = { action: 'list' } as const
    expect((await replayed(drafts, owned, list)).difference).to.deep.equal({ kind: 'undecidable', why })
    expect((await replayed(drafts, drafts, list)).difference, 'the same policy').to.equal(undefined)
    const narrow = { ...list, query: new Map([['fields', 'id,team']]) }
    expect((await replayed(drafts, owned, narrow)).difference, 'every row shows these').to.equal(undefined)
  })

  it('is undecidable where PUT would remove other fields', async () => {
    const narrow = 'p,everyone,docs,read,any,*,allow\np,everyone,docs,replace,any,some,allow\n'
    const put = { action: 'replace', named: ['team'] } as const
    expect((await replayed(EVERYTHING, narrow, put)).difference).to.deep.equal({
      kind: 'undecidable',
      why: "the record doesn't hold the fields that PUT would remove now, or no longer",
    })
    expect((await replayed(narrow, narrow, put)).difference).to.equal(undefined)
  })
})
