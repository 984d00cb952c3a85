/**
 * Subjects that a PEP asserts: what is granted with some of their attributes is granted by the gate whatever
 * values the missing ones have.
 */
import { expect } from 'chai'
import fc from 'fast-check'
import { type FactSource, withFacts } from '../../src/decide/facts.ts'
import { decideWithUnknowns, lacksAttributes } from '../../src/decide/grants/asserted-object.ts'
import { type DirectPolicy, directPolicy } from '../../src/decide/grants/direct.ts'
import { isRefusal } from '../../src/decide/refusal.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { Representation } from '../../src/resources/resource.ts'
import { runs } from '../runs.ts'
import { type Asked, askedAbout, randomClaims } from './arbitrary-language.ts'
import { type Fields, grantedByGate, NO_FIELDS, ON_OBJECTS } from './gate-fields.ts'
import { FOLDERS, LANGUAGE_RESOURCES, TASKS } from './language-fixture.ts'
import { factsOf, filesOfWorld, questionOf } from './language-product.ts'
import type { Plain, World } from './world.ts'

interface Case {
  readonly asked: Asked
  readonly policy: DirectPolicy
  readonly object: Plain
  /** What the service tells of the caller. */
  readonly told: Plain
  /** All that could be true of the caller. */
  readonly others: readonly Plain[]
}

const randomCase: fc.Arbitrary<Case> = fc
  .record({
    asked: askedAbout(TASKS, TASKS, TASKS, FOLDERS),
    all: fc.array(randomClaims, { minLength: 4, maxLength: 4 }),
    names: fc.subarray(['tenant', 'teams']),
  })
  .filter(({ asked: { world, request } }) => {
    return ON_OBJECTS.includes(request.operation ?? request.action) && world.caller.id !== undefined
  })
  .map(({ asked, all, names }) => {
    const told = Object.fromEntries(Object.entries(all[0] ?? {}).filter(([name]) => names.includes(name)))
    const { world, request } = asked
    const object = world.objects?.get(world.resource.name)?.find(({ id }) => id === request.id)
    return { asked, object: object ?? {}, told, others: all.map((claims) => ({ ...claims, ...told })) }
  })
  .filter(({ object }) => Object.hasOwn(object, 'id'))
  .map((drawn) => {
    const { world } = drawn.asked
    const parsed = parsePolicy(filesOfWorld(world), LANGUAGE_RESOURCES)
    return { ...drawn, policy: directPolicy(parsed, LANGUAGE_RESOURCES, world.now) }
  })

function ofCaller({ asked, policy }: Case, claims: Plain) {
  const { caller, objects, ...rest } = asked.world
  const { record: _, ...named } = caller
  const users = objects?.get('users')?.filter(({ id }) => id !== caller.id) ?? []
  const world: World = { ...rest, caller: { ...named, claims }, objects: new Map(objects).set('users', users) }
  return {
    policy,
    question: questionOf(policy, { ...asked, world, viewName: undefined }),
    facts: factsOf(world),
    world,
  }
}

/** The caller's attributes as they are told, or as they are. */
type Granted = (one: Case, claims: Plain) => Promise<Fields>

const byGate: Granted = (one, claims) => {
  const { policy, question, facts } = ofCaller(one, claims)
  return grantedByGate(policy, question, facts)
}

/** As an evaluation grants it of a stored object. */
const ofStored: Granted = async (one, claims) => {
  const { policy, question, facts } = ofCaller(one, claims)
  const lacks = await withFacts(
    lacksAttributes(question, policy, { isChange: false, given: NO_FIELDS }),
    facts as FactSource,
  )
  return lacks ? NO_FIELDS : byGate(one, claims)
}

/** As an evaluation grants it of the same object, told with all its attributes. */
const ofTold: Granted = async (one, claims) => {
  const { policy, question, facts } = ofCaller(one, claims)
  const values = [...question.resource.fields.keys()].map((name) => [name, one.object[name] ?? null] as const)
  const attributes = Object.fromEntries(values) as Representation
  const found = await withFacts(
    decideWithUnknowns(question, policy, { attributes, isCallerAsserted: true }),
    facts as FactSource,
  )
  return isRefusal(found) ? NO_FIELDS : found.fields
}

function grantsNothingByMissing(granted: Granted) {
  return fc.asyncProperty(randomCase, async (one) => {
    const fields = await granted(one, one.told)
    for (const claims of one.others) expect([...fields.difference(await byGate(one, claims))]).to.deep.equal([])
  })
}

describe('a subject that a service tells', () => {
  const forms: Readonly<Record<string, Granted>> = { 'a stored object': ofStored, 'a told object': ofTold }
  for (const [what, granted] of Object.entries(forms)) {
    it(`is granted nothing of ${what} that some value of a missing attribute would refuse`, () =>
      fc.assert(grantsNothingByMissing(granted), { numRuns: runs(90) }))

    it(`is granted something of ${what}, now and then, although attributes are missing`, async () => {
      const cases = fc.sample(randomCase, { numRuns: 60, seed: 1 })
      const some = await Promise.all(cases.map((one) => granted(one, one.told)))
      expect(some.filter((fields) => fields.size > 0).length).to.be.greaterThan(2)
    })
  }

  it('would be granted more if a missing attribute counted as one without a value: the property sees it', async () => {
    const outcome = await fc.check(grantsNothingByMissing(byGate), { numRuns: 5000, seed: 20, endOnFailure: true })
    expect(outcome.failed).to.equal(true)
  })
})
