/** Each search finds exactly the candidates that an evaluation allows, for random policies, objects and subjects. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { FileError } from '../../src/base/diagnostic.ts'
import { askedAbout } from '../policy/arbitrary-language.ts'
import { USER_IDS } from '../policy/arbitrary-objects.ts'
import { STORED, TASKS } from '../policy/language-fixture.ts'
import type { OracleRule, Plain, World } from '../policy/world.ts'
import { type ServedWorld, serveWorld } from '../request/served-world.ts'
import { runs } from '../runs.ts'

const SERVICE = { id: 'shop', roles: [], claims: {} }
const GRANT = 'p, user:shop, system/access, evaluate|search, any, *, allow\n'

const CHANGES = ['update', 'replace', 'claim']

type Entity = Readonly<Record<string, unknown>>
type Query = Readonly<Record<'subject' | 'resource' | 'action', Entity | undefined>>
type Kind = keyof Query

interface Asked {
  readonly world: World
  readonly kind: Kind
  /** The search without what it searches for. */
  readonly query: Query
  readonly candidates: readonly Entity[]
  readonly roles: Readonly<Record<string, readonly string[]>>
}

const randomSearch: fc.Arbitrary<Asked> = fc
  .record({
    asked: askedAbout(TASKS, TASKS, ...STORED),
    withBody: fc.boolean(),
    kind: fc.constantFrom<Kind>('subject', 'resource', 'action'),
    action: fc.constantFrom('read', 'read', 'list', 'update', 'replace', 'delete', 'claim', 'create', 'fly'),
    user: fc.constantFrom(...USER_IDS),
    roles: fc.record(Object.fromEntries(USER_IDS.map((id) => [id, fc.subarray(['a', 'b', 'c'])]))),
    pick: fc.nat(3),
  })
  .map(({ asked: { world, request }, withBody, kind, action, user, roles, pick }) => {
    const type = world.resource.name
    const objects = (world.objects?.get(type) ?? []).map(({ id }) => ({ type, id }))
    const users = (world.objects?.get('users') ?? []).map(({ id }) => ({ type: 'user', id }))
    const actions = ['read', 'list', 'update', 'replace', 'delete', 'claim'].map((name) => ({ name }))
    const query = {
      subject: kind === 'subject' ? { type: 'user' } : { type: 'user', id: user },
      resource: kind === 'resource' ? { type } : (objects[pick] ?? { type, id: 'missing' }),
      action: kind === 'action' ? undefined : { name: action, ...(withBody && properties(request.body)) },
    }
    const stored = action === 'create' ? [] : objects
    return { world, kind, query, roles, candidates: { subject: users, resource: stored, action: actions }[kind] }
  })

const STATES = ['open', 'claimed', 'done']

/** A rule about a change from one status to another. */
const randomTransition = fc.record({
  subject: fc.constant('everyone'),
  resource: fc.constant('tasks'),
  actions: fc.constant(CHANGES),
  relations: fc.constantFrom(...STATES).map((state) => [`was-${state}`]),
  after: fc.constantFrom(...STATES).map((state) => [`was-${state}`]),
  views: fc.constant(['*']),
  effect: fc.constantFrom<'allow' | 'deny'>('allow', 'allow', 'allow', 'deny'),
})

/** Searches for objects that may be changed to a status, with such rules beside those of a random policy. */
const randomChange: fc.Arbitrary<Asked> = fc
  .record({
    world: askedAbout(TASKS).map(({ world }) => world),
    rules: fc.uniqueArray(randomTransition, { minLength: 1, maxLength: 3, selector: ({ relations }) => relations[0] }),
    name: fc.constantFrom(...CHANGES),
    pick: fc.nat(3),
    status: fc.constantFrom(...STATES),
  })
  .map(({ world, rules, name, pick, status }) => {
    const users = world.objects?.get('users') ?? []
    const candidates = (world.objects?.get('tasks') ?? []).map(({ id }) => ({ type: 'tasks', id }))
    const query = {
      subject: { type: 'user', id: users[pick % users.length]?.id ?? 'nobody' },
      resource: { type: 'tasks' },
      action: { name, ...properties({ status }) },
    }
    return { world: withTransitions(world, rules, status), kind: 'resource', query, candidates, roles: {} } as const
  })
  .filter(({ candidates, query }) => candidates.length > 0 && query.subject.id !== 'nobody')

/** The first rule is about a change to this status. */
function withTransitions({ policy, ...world }: World, [first, ...others]: OracleRule[], status: string): World {
  const rules = first ? [{ ...first, after: [`was-${status}`] }, ...others] : []
  const states = STATES.map((state) => [`was-${state}`, { field: 'status', in: [state] }] as const)
  const ofTasks = new Map([...(policy.relations.get('tasks') ?? []), ...states])
  const relations = new Map(policy.relations).set('tasks', ofTasks)
  return { ...world, policy: { ...policy, relations, rules: [...policy.rules, ...rules] } }
}

function withoutBody({ query, ...rest }: Asked): Asked {
  return { ...rest, query: { ...query, action: query.action && { name: query.action.name } } }
}

function properties(body: Plain = {}): Entity {
  return { properties: { body } }
}

type Searcher = (served: ServedWorld, asked: Asked) => Promise<readonly Entity[]>

/** All pages of a search. */
function searching(limit: number | undefined): Searcher {
  return async ({ ask }, { kind, query }) => {
    const found: Entity[] = []
    let page: object | undefined = limit === undefined ? undefined : { limit }
    for (let pages = 0; pages < 50; pages++) {
      const body = { ...query, ...(page && { page }) }
      const answer = await ask('POST', `/access/v1/search/${kind}`, { as: SERVICE.id, body })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(answer.body.results.length).to.be.at.most(limit ?? 50)
      found.push(...answer.body.results)
      if (answer.body.page.next_token === '') return found
      page = { token: answer.body.page.next_token }
    }
    throw new AssertionError('the pages have no end')
  }
}

/** The candidates of which an evaluation is true. */
const evaluating: Searcher = async ({ ask }, { kind, query, candidates }) => {
  if (candidates.length === 0) return []
  const evaluations = candidates.map((candidate) => ({ ...query, [kind]: candidate }))
  const { body } = await ask('POST', '/access/v1/evaluations', { as: SERVICE.id, body: { evaluations } })
  return candidates.filter((_, i) => body.evaluations[i].decision)
}

function findsAllAndNoMore(searches: fc.Arbitrary<Asked>, ...searchers: readonly Searcher[]) {
  return fc.asyncProperty(searches, async (asked) => {
    const files = (ofWorld: Readonly<Record<string, string>>) => {
      return { ...ofWorld, 'policy.csv': `${GRANT}${ofWorld['policy.csv']}` }
    }
    const use = async (served: ServedWorld) => {
      const expected = sorted(await evaluating(served, asked))
      for (const search of searchers) expect(sorted(await search(served, asked))).to.deep.equal(expected)
    }
    await serveWorld(asked.world, use, { files, others: [SERVICE], roles: asked.roles }).catch((error: unknown) => {
      // The added rules may name more relations than a policy can have.
      if (error instanceof FileError) fc.pre(!error.diagnostics.every(({ code }) => code === 'too-many-relations'))
      throw error
    })
  })
}

function sorted(entities: readonly Entity[]): readonly string[] {
  return entities.map((one) => JSON.stringify(one)).toSorted()
}

describe('a search', () => {
  it('finds what an evaluation of every candidate allows, on one page and on pages of one result', () =>
    fc.assert(findsAllAndNoMore(randomSearch, searching(undefined), searching(1)), {
      numRuns: runs(40),
    }))

  it('for objects finds those that a change may begin with, whatever its body makes of them', () =>
    fc.assert(findsAllAndNoMore(randomChange, searching(undefined)), { numRuns: runs(15) }))

  const wrong: Readonly<Record<string, Searcher>> = {
    'takes each candidate': async (_, { candidates }) => candidates,
    'takes only objects that may be changed with their values as they are': async (served, asked) => {
      const found = await searching(undefined)(served, asked)
      const asTheyAre = sorted(await searching(undefined)(served, withoutBody(asked)))
      return found.filter((one) => asTheyAre.includes(JSON.stringify(one)))
    },
    'loses a result between pages': async (served, asked) => (await searching(1)(served, asked)).slice(1),
  }
  for (const [fault, searcher] of Object.entries(wrong)) {
    it(`is compared so that one is found out that ${fault}`, async () => {
      const outcome = await fc.check(findsAllAndNoMore(fc.oneof(randomChange, randomSearch), searcher), {
        numRuns: 500,
        // These worlds tell each fault soon.
        seed: 7,
        endOnFailure: true,
      })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
