/** A decision record explained by the policy that made it, and by another one: what is said of the answer is so. */
import { isDeepStrictEqual } from 'node:util'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { stageOf } from '../../../src/base/problems/catalogue.ts'
import type { DecisionRecord } from '../../../src/decision-log/decision-record.ts'
import type { ActivePolicy } from '../../../src/policy/live/active-policy.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { type PolicyFiles, revisionOf } from '../../../src/policy/policy-files.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import type { RecordComparison } from '../../../src/tools/explain/explanation.ts'
import { explainRecord } from '../../../src/tools/explain/record.ts'
import { LANGUAGE_RESOURCES } from '../../policy/language-fixture.ts'
import { filesOfWorld } from '../../policy/language-product.ts'
import type { World } from '../../policy/world.ts'
import { activeOf, answerOf, candidateOf, randomPair, serve } from '../../replay/live-language.ts'
import { drawing, runs } from '../../runs.ts'

const blockedFile = { name: 'blocked.txt', text: '' }

type Explain = (record: DecisionRecord, files: PolicyFiles, resources: Resources) => Promise<RecordComparison | null>

const product: Explain = async (record, files, resources) => {
  const policy = parsePolicy(files, LANGUAGE_RESOURCES)
  const reviewed = { policy, files, blockedFile, blocked: new Map() }
  return (await explainRecord(record, { reviewed, resources, now: undefined })).record
}

function revised(policy: ActivePolicy, files: PolicyFiles): ActivePolicy {
  return { ...policy, revision: revisionOf(files, blockedFile) }
}

function tells(explain: Explain, seen = new Map<string, number>()) {
  return fc.asyncProperty(randomPair, fc.boolean(), async ({ asked, policy: other }, isOwn) => {
    const policy = isOwn ? asked.world.policy : other
    const candidate = candidateOf(policy, asked)
    if (!candidate) return
    const [then, now] = [asked.world.policy, policy].map((one) => filesOfWorld({ policy: one } as World)) as [
      PolicyFiles,
      PolicyFiles,
    ]
    const was = await serve(revised(activeOf(asked.world, 'a'), then), asked)
    const is = await serve(revised(candidate, now), asked)
    const told = await explain(was.record, now, was.resources)
    const about = `${isOwn ? 'own' : 'other'} ${told?.sameOutcome}`
    seen.set(about, (seen.get(about) ?? 0) + 1)
    const isByPolicy = was.record.problem === undefined || stageOf(was.record.problem) === 'policy'
    if (isOwn && isByPolicy) expect(told?.sameOutcome, told?.verdict).to.equal(true)
    const isSame = isDeepStrictEqual(answerOf(is), answerOf(was))
    if (typeof told?.sameOutcome === 'boolean') expect(told.sameOutcome, told.verdict).to.equal(isSame)
  })
}

describe('a decision record of a random request', () => {
  it('is explained by its own policy with its answer, and by another one with the answer of that or with none', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () => fc.assert(tells(product, seen), { numRuns: runs(1000, 60) }),
      () => {
        for (const about of ['own true', 'other true', 'other false', 'other null'])
          expect(seen.get(about), about).to.be.greaterThan(0)
      },
    )
  })

  it('is found out to be explained by what it does not hold', async () => {
    const guessing: Explain = async (...asked) => {
      const told = await product(...asked)
      return told && { ...told, sameOutcome: told.sameOutcome ?? true }
    }
    const outcome = await fc.check(tells(guessing), { numRuns: 5000, seed: 1, endOnFailure: true })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})
