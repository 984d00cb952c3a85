/** Cells and the role level: what the product's tables grant is what the oracle and the full Casbin grant. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { Resource } from '../../src/resources/resource.ts'
import { runs } from '../runs.ts'
import { randomCaller } from './arbitrary.ts'
import { randomPolicy, type WrittenPolicy } from './arbitrary-policy.ts'
import { grantedIn, isReachable } from './expected-cells.ts'
import { DOCS, HEALTH, JOBS } from './fixture.ts'
import { fullCasbin } from './full-casbin.ts'
import { subjects, subsets } from './oracle.ts'
import { roleLevelOf, snapshotOf, tableOf, worldOf } from './product.ts'
import type { OracleCaller, World } from './world.ts'

interface Question {
  readonly policy: WrittenPolicy
  readonly caller: OracleCaller
  readonly resource: Resource
  readonly action: string
}

/** What somebody answers to a question. */
interface Answer {
  readonly reachable: boolean
  grant(relations: ReadonlySet<string>): ReadonlySet<string>
}

type Answerer = (question: Question, world: World) => Answer | Promise<Answer>

const product: Answerer = async ({ policy, caller, resource, action }) => {
  const table = await tableOf(snapshotOf(policy.files), caller, resource, action)
  return { reachable: roleLevelOf(table, caller).allowed, grant: (relations) => table.grant([...relations]).fields }
}

const casbin: Answerer = async ({ action }, world) => {
  return { reachable: isReachable(world, action), grant: await fullCasbin(world, action) }
}

const randomQuestion: fc.Arbitrary<Question> = fc.constantFrom(DOCS, DOCS, DOCS, JOBS, HEALTH).chain((resource) =>
  fc.record({
    policy: randomPolicy,
    caller: randomCaller,
    resource: fc.constant(resource),
    action: fc.constantFrom(...resource.actions.keys()),
  }),
)

function answersLikeTheOracle(answerer: Answerer) {
  return fc.asyncProperty(randomQuestion, async (question) => {
    const { policy, caller, resource, action } = question
    const world = worldOf(policy.data, resource, caller)
    const answer = await answerer(question, world)
    for (const relations of subsets([...(policy.data.relations.get(resource.name)?.keys() ?? [])])) {
      expect(answer.grant(relations)).to.deep.equal(grantedIn(world, action, relations), [...relations].join('+'))
    }
    expect(answer.reachable, 'role level').to.equal(isReachable(world, action))
  })
}

const RUNS = { numRuns: runs(600) }

describe('what a cell grants', () => {
  it('is what the oracle grants, whatever the relations, and so is the role level', async () => {
    await fc.assert(answersLikeTheOracle(product), RUNS)
  })

  it('is what Casbin grants with all rules and real role links', async () => {
    await fc.assert(answersLikeTheOracle(casbin), RUNS)
  })

  /** Each is wrong in one way; the property above must see it. */
  const wrong: Readonly<Record<string, (question: Question, world: World) => Answer>> = {
    'lets the allow of one subject win over the deny of another': ({ action }, world) => ({
      reachable: isReachable(world, action),
      grant: (relations) =>
        [...subjects(world)]
          .map((subject) => onlyFor(subject, world))
          .map((alone) => grantedIn(alone, action, relations))
          .reduce((all, more) => all.union(more)),
    }),
    'forgets inherited roles': ({ action }, world) => ({
      reachable: isReachable(world, action),
      grant: (relations) => grantedIn({ ...world, policy: { ...world.policy, links: [] } }, action, relations),
    }),
    'takes one relation of several for all': ({ action }, world) => ({
      reachable: isReachable(world, action),
      grant: (relations) =>
        [new Set<string>(), ...[...relations].map((name) => new Set([name]))]
          .map((alone) => grantedIn(world, action, alone))
          .reduce((all, more) => all.union(more)),
    }),
    'finds an action reachable by its allows alone': ({ action }, world) => ({
      reachable: isReachable(withoutDenies(world), action),
      grant: (relations) => grantedIn(world, action, relations),
    }),
    'relates callers without credentials': ({ action }, world) => ({
      reachable: someSetAllowed(world, action, ({ caller }) => caller.id === undefined),
      grant: (relations) => grantedIn(world, action, relations),
    }),
    'relates callers by attributes that they lack': ({ action }, world) => ({
      reachable: someSetAllowed(world, action, ({ caller }) => caller.id !== undefined),
      grant: (relations) => grantedIn(world, action, relations),
    }),
  }

  for (const [fault, answerer] of Object.entries(wrong)) {
    it(`is compared so that an evaluator is found out that ${fault}`, async () => {
      const outcome = await fc.check(answersLikeTheOracle(answerer), { numRuns: 2000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

/** The role level, but for `these` callers any relation could hold. */
function someSetAllowed(world: World, action: string, these: (world: World) => boolean): boolean {
  if (!these(world)) return isReachable(world, action)
  const names = [...(world.policy.relations.get(world.resource.name)?.keys() ?? [])]
  return subsets(names).some((relations) => grantedIn(world, action, relations).size > 0)
}

function onlyFor(subject: string, world: World): World {
  const { policy } = world
  return { ...world, policy: { ...policy, rules: policy.rules.filter((rule) => rule.subject === subject) } }
}

function withoutDenies(world: World): World {
  const { policy } = world
  return { ...world, policy: { ...policy, rules: policy.rules.filter((rule) => rule.effect === 'allow') } }
}
