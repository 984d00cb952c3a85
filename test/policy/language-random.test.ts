/** The product answers as the oracle does, for random policies of the second edition, objects, callers and requests. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { casbinPolicy } from '../../src/decide/casbin/casbin.ts'
import { directPolicy } from '../../src/decide/grants/direct.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { runs } from '../runs.ts'
import { type Asked, askedAbout, randomAsked } from './arbitrary-language.ts'
import { FOLDERS, LANGUAGE_RESOURCES, USERS } from './language-fixture.ts'
import { filesOfWorld, productAnswer } from './language-product.ts'
import { type Answer, answer } from './oracle/answer.ts'
import { nameOf } from './oracle/terms.ts'
import type { OracleRelation, OracleRule, World } from './world.ts'

type Answerer = (asked: Asked) => Answer | Promise<Answer>

const direct: Answerer = (asked) =>
  productAnswer(directPolicy(parsed(asked), LANGUAGE_RESOURCES, asked.world.now), asked)

const casbin: Answerer = (asked) =>
  productAnswer(casbinPolicy(packPolicy(parsed(asked)), LANGUAGE_RESOURCES, asked.world.now), asked)

function parsed({ world }: Asked) {
  return parsePolicy(filesOfWorld(world), LANGUAGE_RESOURCES)
}

function answersLikeTheOracle(answerer: Answerer, random = randomAsked) {
  return fc.asyncProperty(random, async (asked) => {
    const given = await answerer(asked)
    expect(withoutTimes(given)).to.deep.equal(withoutTimes(answer(asked.world, asked.request)))
  })
}

/** The times of a new object are the server's. */
function withoutTimes({ shows, object, ...more }: Answer): Answer {
  const { createdAt, updatedAt, ...document } = object ?? {}
  return {
    ...more,
    ...(shows && { shows: shows.filter((field) => !['createdAt', 'updatedAt'].includes(field)) }),
    ...(object && { object: document }),
  }
}

describe('an answer under a policy of the second edition', () => {
  it("is the oracle's, where rules are evaluated directly", () =>
    fc.assert(answersLikeTheOracle(direct), { numRuns: runs(1500) }))

  it("is the oracle's, where Casbin evaluates them", () =>
    fc.assert(answersLikeTheOracle(casbin), { numRuns: runs(500) }))

  it("is the oracle's to a write of users records, the caller's own included", () =>
    fc.assert(answersLikeTheOracle(direct, askedAbout(USERS)), { numRuns: runs(1500) }))

  /** Each is wrong in one way; the property above must see it. */
  const wrong: Readonly<Record<string, (world: World) => World>> = {
    'ignores right sides': withRules(({ after, ...rule }) => rule),
    'takes a negated term for the name': withRules((rule) => ({ ...rule, relations: rule.relations.map(nameOf) })),
    'takes all conditions to hold': (world) => ({ ...world, assumed: new Set(world.policy.conditions?.keys()) }),
    'fills nothing but the owner': withRelations((one) => {
      return 'equals' in one ? { field: one.field, equals: one.equals } : one
    }),
    'finds no related object': ({ objects, resource, ...world }) => {
      return { ...world, resource, objects: new Map([[resource.name, objects?.get(resource.name) ?? []]]) }
    },
    'reads claims where there is a record': ({ caller: { record, ...caller }, ...world }) => ({ ...world, caller }),
    'lets an API key sign in': ({ caller, ...world }) => ({ ...world, caller: { ...caller, credential: 'password' } }),
    'conceals nothing': ({ policy, ...world }) => ({ ...world, policy: { ...policy, conceal: new Set() } }),
  }

  /** These draw soon what tells the fault. */
  const SEEDS: Readonly<Record<string, number>> = {
    'ignores right sides': 13,
    'fills nothing but the owner': 11,
    'finds no related object': 46,
    'reads claims where there is a record': 4,
    'lets an API key sign in': 15,
    'conceals nothing': 19,
  }

  async function isFoundOut(tamper: (world: World) => World, seed: number, random = randomAsked) {
    const property = answersLikeTheOracle(({ world, request }) => answer(tamper(world), request), random)
    const outcome = await fc.check(property, { numRuns: 20_000, seed, endOnFailure: true })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  }

  for (const [fault, tamper] of Object.entries(wrong)) {
    it(`is compared so that an answerer is found out that ${fault}`, () => isFoundOut(tamper, SEEDS[fault] ?? 1))
  }

  it('is compared so that an answerer is found out that climbs one step only', () =>
    isFoundOut(
      withRelations((one) => ('depth' in one ? { ...one, depth: 1 } : one)),
      157,
      askedAbout(FOLDERS),
    ))
})

function withRules(edit: (rule: OracleRule) => OracleRule): (world: World) => World {
  return ({ policy, ...world }) => ({ ...world, policy: { ...policy, rules: policy.rules.map(edit) } })
}

function withRelations(edit: (relation: OracleRelation) => OracleRelation): (world: World) => World {
  return ({ policy, ...world }) => {
    const edited = [...policy.relations].map(([resource, named]) => {
      return [resource, new Map([...named].map(([name, one]) => [name, edit(one)]))] as const
    })
    return { ...world, policy: { ...policy, relations: new Map(edited) } }
  }
}
