/** `self-grant` tells what trying writes one by one finds, and nothing else, for random policies of the whole language. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { checkedPolicy } from '../../../src/tools/check/check.ts'
import { findSelfGrants } from '../../../src/tools/check/reach/self-grants.ts'
import { LANGUAGE_RESOURCES } from '../../policy/language-fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy } from '../../policy/world.ts'
import { drawing, fewOf, runs } from '../../runs.ts'
import { anyPolicy, CROSSING_RELATIONS, crossingPolicy } from './crossing-policy.ts'
import { Deciding, NotDecided } from './deciding.ts'
import type { Wanted } from './random-writes.ts'
import { isShown, waysByForce } from './self-grants-by-force.ts'

/** Some keep two or three of the roles apart. */
function perhapsApart(policies: fc.Arbitrary<OraclePolicy>): fc.Arbitrary<OraclePolicy> {
  return policies.chain((policy) => {
    const sets = fc.subarray([...policy.roles], { minLength: 2, maxLength: 3 })
    return fc
      .option(sets, { freq: 2 })
      .map((set) => (set && canBeApart(policy, set) ? { ...policy, apart: [set] } : policy))
  })
}

/** No role inherits two of them, which would be a fault. */
function canBeApart({ links }: OraclePolicy, set: readonly string[]): boolean {
  return !links.some(({ role, inherits }) => [role, inherits].some((one) => set.includes(one)))
}

const crossing = perhapsApart(crossingPolicy)
const random = fc.record({
  policy: fc.oneof({ weight: 4, arbitrary: crossing }, perhapsApart(anyPolicy)),
  seed: fc.nat(),
})

type Tell = (policy: OraclePolicy) => ReadonlySet<string>

const told: Tell = (policy) => {
  const files = render(policy, { lineEnd: '\n', padding: ' ', comments: false })
  const written = parsePolicy(files, LANGUAGE_RESOURCES)
  const parts = { written, now: 0, resources: LANGUAGE_RESOURCES, files, directory: undefined }
  const { found, undecided } = findSelfGrants(checkedPolicy(parts))
  if (undecided.length > 0) throw new NotDecided()
  return new Set(
    found.map(({ written: { resource, action }, resource: gained, relation }) => {
      return `${resource.name} ${action.name}: ${gained.name} ${relation.name}`
    }),
  )
}

/** Each way that the writes in some worlds show is told. */
function tellsAll(
  tell: Tell,
  count: (ways: ReadonlySet<string>, policy: OraclePolicy) => void = () => undefined,
  deciding: Deciding = new Deciding(),
) {
  return fc.property(random, ({ policy, seed }) => {
    const found = deciding.ask(() => tell(policy))
    if (!found) return
    const ways = waysByForce(policy, seed, 1000)
    count(ways, policy)
    expect([...found]).to.include.members([...ways])
  })
}

/** Each way that is told is shown by some write, perhaps after many. */
function tellsOnly(
  tell: Tell,
  count: (way: string, policy: OraclePolicy) => void = () => undefined,
  deciding: Deciding = new Deciding(),
  wanted: Pick<Wanted, 'starts'> = {},
) {
  return fc.property(crossing, fc.nat(), (policy, seed) => {
    for (const way of fewOf([...(deciding.ask(() => tell(policy)) ?? [])], 3, seed)) {
      count(way, policy)
      expect(isShown(policy, way, seed, wanted), way).to.equal(true)
    }
  })
}

describe('the writes by which callers give themselves more', () => {
  it('are all told, whatever the policy says', async () => {
    let [shown, ofApart] = [0, 0]
    const deciding = new Deciding()
    const count = (ways: ReadonlySet<string>, { apart }: OraclePolicy) => {
      shown += ways.size
      if (apart) ofApart += ways.size
    }
    await drawing(
      () => fc.assert(tellsAll(told, count, deciding), { numRuns: runs(150) }),
      () => {
        expect(Math.min(shown, ofApart)).to.be.greaterThan(0)
        expect(deciding.isMostlyDecided).to.equal(true)
      },
    )
  })

  it('are told only where some write shows it', async () => {
    let ways = 0
    const deciding = new Deciding()
    const count = () => {
      ways++
    }
    await drawing(
      () => fc.assert(tellsOnly(told, count, deciding), { numRuns: runs(18) }),
      () => {
        expect(ways).to.be.greaterThan(0)
        expect(deciding.isMostlyDecided).to.equal(true)
      },
    )
  })

  /** A policy in which each kind of write gives somebody more. */
  const RICH: OraclePolicy = {
    ...CROSSING_RELATIONS,
    rules: [
      rule('everyone', 'memberships', ['create', 'delete'], ['self']),
      rule('everyone', 'tasks', ['read'], ['member']),
      rule('everyone', 'projects', ['read'], []),
      rule('everyone', 'projects', ['read'], ['member'], 'deny'),
      rule('everyone', 'tasks', ['delete'], ['!member']),
    ],
  }

  it('are told and shown for creates, deletes, negated terms and denies that stop to hold', () => {
    const ways = [
      'memberships create: tasks member',
      'memberships delete: projects member',
      'memberships delete: tasks member',
    ]
    expect([...told(RICH)]).to.have.members(ways)
    expect(ways).to.include.members([...waysByForce(RICH, 1, 5000)])
    expect(ways.filter((way) => !isShown(RICH, way, 1))).to.deep.equal([])
  })

  it('are told for each resource that one line about all of them lets somebody write', () => {
    const all = {
      ...RICH,
      rules: [rule('everyone', '*', ['update'], []), rule('everyone', 'tasks', ['read'], ['member'])],
    }
    const ways = ['memberships update: tasks member', 'tasks update: tasks member']
    expect([...told(all)]).to.have.members(ways)
    expect(ways.filter((way) => !isShown(all, way, 1))).to.deep.equal([])
  })

  /** Whoever may add themselves isn't the one who gains by it, if nobody has both roles. */
  const OF_TWO: OraclePolicy = {
    ...CROSSING_RELATIONS,
    rules: [rule('a', 'memberships', ['create'], ['self']), rule('b', 'tasks', ['read'], ['member'])],
  }

  it("are nobody's where two roles are needed that a guarantee keeps apart", () => {
    const way = 'memberships create: tasks member'
    const byForce = (policy: OraclePolicy) => [...waysByForce(policy, 1, 5000)]
    expect([[...told(OF_TWO)], byForce(OF_TWO)]).to.deep.equal([[way], [way]])
    for (const apart of [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]) {
      const kept = { ...OF_TWO, apart: [apart] }
      expect([[...told(kept)], byForce(kept)]).to.deep.equal([[], []])
      // The negative control: told as if nothing kept them apart.
      expect(isShown(kept, way, 1, { starts: 1 })).to.equal(false)
    }
    const others = { ...OF_TWO, apart: [['a', 'c']] }
    expect([[...told(others)], byForce(others)]).to.deep.equal([[way], [way]])
  })

  /** Each leaves something out. */
  const blind: Readonly<Record<string, Tell>> = {
    deletes: (policy) => new Set([...told(policy)].filter((way) => !way.includes(' delete:'))),
    denies: (policy) => told({ ...policy, rules: policy.rules.filter(({ effect }) => effect === 'allow') }),
    'negated terms': (policy) =>
      told({ ...policy, rules: policy.rules.filter(({ relations }) => !relations.join().includes('!')) }),
  }

  for (const [what, tell] of Object.entries(blind)) {
    it(`are missed where ${what} are left out`, () => {
      expect(() => expect([...tell(RICH)]).to.include.members([...waysByForce(RICH, 1, 5000)])).to.throw(AssertionError)
    })
  }

  it('may stay undecided for few policies alone', () => {
    const deciding = new Deciding()
    const fail = () => {
      throw new NotDecided()
    }
    deciding.ask(fail)
    expect(deciding.isMostlyDecided).to.equal(true)
    deciding.ask(fail)
    expect(deciding.isMostlyDecided).to.equal(false)
  })

  it('are found out where they are made up', () => {
    const made: Tell = () => new Set(['projects delete: folders inherited'])
    const outcome = fc.check(tellsOnly(made, undefined, undefined, { starts: 1 }), {
      numRuns: 1,
      seed: 1,
      endOnFailure: true,
    })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})

function rule(
  subject: string,
  resource: string,
  actions: readonly string[],
  relations: readonly string[],
  effect: 'allow' | 'deny' = 'allow',
) {
  return { subject, resource, actions, relations, views: ['*'], effect }
}
