/**
 * Objects that a PEP asserts: what is granted with some attributes is granted by the gate whatever values the
 * missing ones have, and with all attributes asserted it is the gate's own decision.
 */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Question } from '../../src/decide/decide.ts'
import { type FactSource, type FactsAtHand, withFacts } from '../../src/decide/facts.ts'
import { decideWithUnknowns } from '../../src/decide/grants/asserted-object.ts'
import { type DirectPolicy, directPolicy } from '../../src/decide/grants/direct.ts'
import { isRefusal } from '../../src/decide/refusal.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { Field, Representation } from '../../src/resources/resource.ts'
import { runs } from '../runs.ts'
import { type Asked, askedAbout } from './arbitrary-language.ts'
import { valueFor } from './arbitrary-objects.ts'
import { type Fields, grantedByGate, NO_FIELDS, ON_OBJECTS } from './gate-fields.ts'
import { FOLDERS, LANGUAGE_RESOURCES, TASKS } from './language-fixture.ts'
import { factsOf, filesOfWorld, questionOf } from './language-product.ts'
import { storedOf } from './product.ts'
import type { Plain } from './world.ts'

interface Case {
  readonly policy: DirectPolicy
  readonly question: Question
  /** The object with all its attributes, which isn't stored. */
  readonly object: Plain
  /** The attributes that are told. */
  readonly told: readonly string[]
  /** The same object with other values for the attributes that aren't told. */
  readonly others: readonly Plain[]
  /** The stored objects. */
  readonly facts: FactsAtHand
}

/** What an evaluation grants of a told object. */
async function toldFields({ policy, question, object, told, facts }: Case, all = false): Promise<Fields> {
  const names = all ? [...question.resource.fields.keys()] : told
  const values = names.map((name) => [name, Object.hasOwn(object, name) ? object[name] : null] as const)
  const attributes = { ...Object.fromEntries(values), id: String(object.id) } as Representation
  const found = await withFacts(
    decideWithUnknowns(question, policy, { attributes, isCallerAsserted: false }),
    facts as FactSource,
  )
  return isRefusal(found) ? NO_FIELDS : found.fields
}

/** What the gate grants of the object, if it were stored. */
async function gateFields({ policy, question, facts }: Case, object: Plain): Promise<Fields> {
  const stored: FactsAtHand = {
    ...facts,
    object: (resource, id) =>
      resource === question.resource.name && id === object.id ? storedOf(object) : facts.object(resource, id),
  }
  return grantedByGate(policy, question, stored)
}

const randomCase: fc.Arbitrary<Case> = askedAbout(TASKS, TASKS, TASKS, FOLDERS)
  .filter(
    ({ world, request }) =>
      ON_OBJECTS.includes(request.operation ?? request.action) && objectOf({ world, request }) !== undefined,
  )
  .chain((asked) => {
    const { world } = asked
    const fields = [...(LANGUAGE_RESOURCES.byName.get(world.resource.name)?.fields.values() ?? [])]
    const named = fields.map(({ name }) => name).filter((name) => name !== 'id')
    return fc
      .record({
        told: fc.oneof(fc.subarray(named), fc.subarray(named, { minLength: Math.max(0, named.length - 2) })),
        drawn: fc.array(randomValues(fields), { minLength: 2, maxLength: 2 }),
      })
      .map(({ told, drawn }) => caseOf(asked, told, drawn))
  })

function randomValues(fields: readonly Field[]): fc.Arbitrary<Plain> {
  const values = Object.fromEntries(fields.map((one) => [one.name, valueFor(one)]))
  return fc.record(values, { requiredKeys: [] }) as fc.Arbitrary<Plain>
}

function caseOf(asked: Asked, told: readonly string[], drawn: readonly Plain[]): Case {
  const { world } = asked
  const object = objectOf(asked) ?? {}
  const rest = (world.objects?.get(world.resource.name) ?? []).filter((one) => one !== object)
  const policy = directPolicy(parsePolicy(filesOfWorld(world), LANGUAGE_RESOURCES), LANGUAGE_RESOURCES, world.now)
  const kept = Object.fromEntries(Object.entries(object).filter(([name]) => name === 'id' || told.includes(name)))
  const without = told.filter((name) => !Object.hasOwn(object, name))
  const others = drawn.map((values) => {
    const free = Object.entries(values).filter(([name]) => name !== 'id' && !told.includes(name))
    return { ...Object.fromEntries(free), ...kept, ...Object.fromEntries(without.map((name) => [name, null])) }
  })
  return {
    policy,
    question: questionOf(policy, { ...asked, viewName: undefined }),
    object,
    told,
    others: [object, ...others],
    facts: factsOf({ ...world, objects: new Map([...(world.objects ?? []), [world.resource.name, rest]]) }),
  }
}

function objectOf({ world, request }: Pick<Asked, 'world' | 'request'>): Plain | undefined {
  return world.objects?.get(world.resource.name)?.find(({ id }) => id === request.id)
}

/** Nothing is granted that some values of the missing attributes would refuse. */
function grantsNothingByMissing(granted: (one: Case) => Promise<Fields>) {
  return fc.asyncProperty(randomCase, async (one) => {
    const fields = await granted(one)
    for (const object of one.others) expect([...fields.difference(await gateFields(one, object))]).to.deep.equal([])
  })
}

describe('an object that a service tells', () => {
  it('is granted nothing that some value of a missing attribute would refuse', () =>
    fc.assert(
      grantsNothingByMissing((one) => toldFields(one)),
      { numRuns: runs(300) },
    ))

  it('is granted something, now and then, although attributes are missing', async () => {
    const granted = await Promise.all(fc.sample(randomCase, { numRuns: 40, seed: 1 }).map((one) => toldFields(one)))
    expect(granted.filter((fields) => fields.size > 0).length).to.be.greaterThan(2)
  })

  it('is granted what the gate grants of a stored object, where all attributes are told', () =>
    fc.assert(
      fc.asyncProperty(randomCase, async (one) => {
        expect([...(await toldFields(one, true))].sort()).to.deep.equal([...(await gateFields(one, one.object))].sort())
      }),
      { numRuns: runs(300) },
    ))

  it('would be granted more if a missing attribute counted as one without a value: the property sees it', async () => {
    const careless = grantsNothingByMissing((one) => {
      const told = Object.entries(one.object).filter(([name]) => name === 'id' || one.told.includes(name))
      return gateFields(one, Object.fromEntries(told))
    })
    const outcome = await fc.check(careless, { numRuns: 5000, seed: 4, endOnFailure: true })
    expect(outcome.failed).to.equal(true)
  })
})
