/** What `matrix mutate` calls equivalent gets the same answer to every request, whatever the policy says. */

import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { Sides } from '../../src/analysis/compared-space.ts'
import { FileError } from '../../src/base/diagnostic.ts'
import { directPolicy } from '../../src/decide/grants/direct.ts'
import type { Policy } from '../../src/decide/policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { findDifference } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { mutateLinks, mutateRules, vocabularyOf } from '../../src/tools/matrix/mutate/mutants.ts'
import { type Asked, randomAsked } from '../policy/arbitrary-language.ts'
import { LANGUAGE_RESOURCES } from '../policy/language-fixture.ts'
import { filesOfWorld, productAnswer } from '../policy/language-product.ts'
import type { Answer } from '../policy/oracle/answer.ts'
import { drawing, runs } from '../runs.ts'

/** A policy, mistakes to choose among its own, and what requests are made of. */
const random = fc.record({
  base: randomAsked,
  picks: fc.array(fc.nat(100_000), { minLength: 6, maxLength: 6 }),
  others: fc.array(randomAsked, { minLength: 3, maxLength: 3 }),
})

/** Each request by each caller in each world, under the policy of the first. */
function requestsOf(asked: readonly Asked[], { policy }: Asked['world']): readonly Asked[] {
  return asked.flatMap(({ request: { view: _, ...request }, world: { resource } }) =>
    asked.flatMap(({ world: { objects } }) =>
      asked.map(({ world: { caller: who, now, address } }): Asked => {
        const { record: __, ...caller } = who
        const record = objects?.get('users')?.find(({ id }) => id === caller.id)
        const stored = objects?.get(resource.name) ?? []
        const id = String((stored.find((one) => one.id === request.id) ?? stored[0])?.id ?? 'missing')
        const asking = record ? { ...caller, record } : caller
        const world = {
          policy,
          resource,
          caller: asking,
          ...(objects && { objects }),
          ...(now !== undefined && { now }),
          ...(address && { address }),
        }
        return { viewName: undefined, request: { ...request, id }, world }
      }),
    ),
  )
}

type Prove = (policies: Sides<Policy>) => boolean

const proven: Prove = (policies) => findDifference(policies, { resources: LANGUAGE_RESOURCES, now: 0 }) === undefined

/** All that a client sees, but the times of a new object. */
function seen({ shows, object, ...more }: Answer): unknown {
  const { createdAt, updatedAt, ...document } = object ?? {}
  return { ...more, shows: shows?.filter((field) => !field.endsWith('At')), document }
}

/** No mistake that is proven to change nothing changes an answer. */
function holds(prove: Prove, count: () => void = () => undefined) {
  return fc.asyncProperty(random, async ({ base, picks, others }) => {
    const files = filesOfWorld(base.world)
    const before = parsePolicy(files, LANGUAGE_RESOURCES)
    const source = { files, resources: LANGUAGE_RESOURCES }
    const vocabulary = vocabularyOf(before)
    const mutants = [...mutateRules(source, vocabulary), ...mutateLinks(source, vocabulary)]
    const asked = requestsOf([base, ...others], base.world)
    for (const pick of picks) {
      const mutant = mutants[pick % mutants.length]
      const after = mutant && parsed(mutant.files)
      if (!after || !prove({ before, after })) continue
      count()
      for (const one of asked) {
        const [answer, changed] = await Promise.all(
          [before, after].map((each) => productAnswer(directPolicy(each, LANGUAGE_RESOURCES), one)),
        )
        expect(changed && seen(changed), mutant.change).to.deep.equal(answer && seen(answer))
      }
    }
  })
}

/** Undefined for a mistake that the parser refuses. */
function parsed(files: Parameters<typeof parsePolicy>[0]): Policy | undefined {
  try {
    return parsePolicy(files, LANGUAGE_RESOURCES)
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

describe('a mistake that is proven to change no decision', () => {
  it('changes no answer under random policies of the whole language', async () => {
    let tried = 0
    await drawing(
      () =>
        fc.assert(
          holds(proven, () => tried++),
          { numRuns: runs(150) },
        ),
      () => {
        expect(tried).to.be.greaterThan(runs(150) / 4)
      },
    )
  })

  /** Each proves too much in one way; the property above must find it out. */
  const wrong: Readonly<Record<string, (policy: Policy) => Policy>> = {
    'does not look at right sides': (policy) => ({ ...policy, rules: policy.rules.map(({ after, ...rule }) => rule) }),
    'does not look at denies': (policy) => ({
      ...policy,
      rules: policy.rules.filter(({ effect }) => effect === 'allow'),
    }),
    'takes each view for all fields': (policy) => ({
      ...policy,
      rules: policy.rules.map((rule) => ({ ...rule, views: ['*'] })),
    }),
  }

  for (const [fault, blind] of Object.entries(wrong)) {
    it(`is found out where the proof ${fault}`, async () => {
      const prove: Prove = ({ before, after }) => proven({ before: blind(before), after: blind(after) })
      const outcome = await fc.check(holds(prove), { numRuns: 1000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
