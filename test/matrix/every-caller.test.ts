import { isDeepStrictEqual } from 'node:util'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { Policy } from '../../src/decide/policy.ts'
import { storeNew } from '../../src/tools/matrix/init/write-matrix.ts'
import { makeMutants, tryMutant } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { type Stated, statementsOf } from '../../src/tools/matrix/predict/expectations-met.ts'
import type { Answer, EvaluatedPolicy, PredictedRequest } from '../../src/tools/matrix/predict/predict.ts'
import { requestOfCell } from '../../src/tools/matrix/predict/predict-cell.ts'
import type { PredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { drawing, runs } from '../runs.ts'
import { randomPolicyFiles } from './predict/random-policies.ts'
import { suiteOfFiles, writtenFor } from './predict/suites.ts'

/** The suite of these files, with the matrix of the policy as it is. */
async function wholeSuite(files: Readonly<Record<string, string>>) {
  const { folder, matrix, suite } = await suiteOfFiles(files)
  await storeNew(matrix, await writtenFor(await suite()))
  const whole = await suite()
  await removeFolder(folder)
  return whole
}

/** What a client sees, without new ids and times. */
function seen({ status, shown, items }: Answer): unknown {
  const rows = items?.map((item) => [item.object.id, Object.keys(item.shown).sort()])
  return [status, shown && Object.keys(shown).sort(), rows]
}

/** The requests of all expectations, on the objects that the policy as it is needs; lists apart. */
function requestsOf({ predictor, evaluated, expectations }: PredictedSuite) {
  return expectations.flatMap((expectation) => requestOfCell(predictor, evaluated.policy, expectation) ?? [])
}

type Found = Map<'noticed' | 'equivalent' | 'other', number>

interface Judging {
  /** What expectations the search for one that notices is told. */
  readonly told: (met: readonly Stated[]) => readonly Stated[]
  readonly found?: Found
}

function holds({ told, found = new Map() }: Judging) {
  const random = fc.tuple(randomPolicyFiles, fc.array(fc.nat(100_000), { minLength: 8, maxLength: 8 }))
  return fc.asyncProperty(random, async ([files, picks]) => {
    const suite = await wholeSuite(files)
    const { met } = await statementsOf(suite)
    const mutants = makeMutants(suite, suite.evaluated.policy, { only: undefined, valuesOf: () => [] })
    const requests = requestsOf(suite)
    for (const mutant of picks.flatMap((pick) => mutants[pick % mutants.length] ?? [])) {
      const tried = await tryMutant({ ...suite, stated: told(met) }, mutant)
      if (typeof tried === 'string') continue
      const kind = kindOf(tried)
      found.set(kind, (found.get(kind) ?? 0) + 1)
      const change = `${mutant.operator} ${mutant.change}`
      if (kind !== 'noticed') await expectUnnoticed(met, tried.evaluated, change)
      if (kind === 'equivalent') await expectAlike(suite, requests, tried.evaluated, change)
    }
  })
}

function kindOf({
  noticed,
  difference,
}: Exclude<Awaited<ReturnType<typeof tryMutant>>, string>): 'noticed' | 'equivalent' | 'other' {
  if (noticed) return 'noticed'
  return difference ? 'other' : 'equivalent'
}

/** A list is asked about the objects that a policy tells apart, so another policy may ask about others. */
async function expectUnnoticed(met: readonly Stated[], evaluated: EvaluatedPolicy, change: string): Promise<void> {
  for (const one of met.filter(({ isList }) => !isList))
    expect(await one.holds(evaluated), `${change}: ${one.place.line}`).to.equal(true)
}

async function expectAlike(
  { predictor, evaluated: before }: PredictedSuite,
  requests: readonly Omit<PredictedRequest, 'evaluated'>[],
  after: EvaluatedPolicy,
  change: string,
): Promise<void> {
  for (const request of requests) {
    const was = seen(await predictor.predict({ ...request, evaluated: before }))
    const is = seen(await predictor.predict({ ...request, evaluated: after }))
    const { method, route } = request.routeMethod
    expect(isDeepStrictEqual(is, was), `${change}: ${method} ${route.path}`).to.equal(true)
  }
}

describe('a mistake in any policy', () => {
  it('is noticed by an expectation, or by none of all; and changes no answer if it is proven to change none', async () => {
    const found: Found = new Map()
    await drawing(
      () => fc.assert(holds({ told: (met) => met, found }), { numRuns: runs(20, 2) }),
      () => {
        for (const kind of ['noticed', 'equivalent', 'other'] as const)
          expect(found.get(kind), kind).to.be.greaterThan(0)
      },
    )
  })

  it('in what fills an object counts where rules let a PUT replace, which keeps filled fields', async () => {
    const files = {
      'policy.csv': 'p, clerk, things, replace, any, *, allow\n',
      'roles.yaml': 'clerk: { description: clerk }\n',
      'ownership.yaml': 'things: { relations: { owner: ownerId } }\nusers: { relations: { owner: id } }\n',
      'views.yaml': '{}\n',
    }
    const suite = await wholeSuite(files)
    const { met } = await statementsOf(suite)
    const mutants = makeMutants(suite, suite.evaluated.policy, { only: undefined, valuesOf: () => [] })
    const other = mutants.find(({ change }) => change === 'things.relations.owner: "ownerId" -> "id"')
    const tried = other && (await tryMutant({ ...suite, stated: met }, other))
    expect(typeof tried === 'object' && kindOf(tried)).to.equal('other')
  })

  const wrong: Readonly<Record<string, (one: Stated) => Stated>> = {
    'everybody counts as no role': ({ subjects, ...one }) => ({
      ...one,
      ...(subjects && { subjects: (policy: Policy) => subjects(policy).difference(new Set(['everyone'])) }),
    }),
    'inherited roles are left out': ({ subjects, ...one }) => ({
      ...one,
      ...(subjects && { subjects: (policy: Policy) => new Set([...subjects(policy)].slice(0, 2)) }),
    }),
    // What is read after a write is asked of the rows about reading, too, so leaving it out would be no mistake here.
    'only reading counts': ({ asks, ...one }) => ({ ...one, asks: asks.slice(1) }),
  }
  for (const [fault, change] of Object.entries(wrong)) {
    it(`is found out to be overlooked where ${fault}`, async () => {
      const outcome = await fc.check(holds({ told: (met) => met.map(change) }), {
        numRuns: 60,
        seed: 6,
        endOnFailure: true,
      })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
