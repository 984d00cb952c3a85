/** `policy trim` takes away nothing that a request of the logs shows, for random policies and requests. */
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { PolicyFiles } from '../../src/policy/policy-files.ts'
import { loadPolicy } from '../../src/tools/load-policy.ts'
import { isProven } from '../../src/tools/usage/formats.ts'
import { type Trimmed, trim } from '../../src/tools/usage/trim.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { generousPolicy } from '../policy/arbitrary-policy.ts'
import { activeOf, answerOf, live, randomRequest, WITH_ROUTES } from '../replay/live-decision.ts'
import { drawing, runs } from '../runs.ts'

const ALWAYS = { since: Date.UTC(2025, 11), until: Date.UTC(2026, 1), maxSilence: Number.POSITIVE_INFINITY }

/** The files of the narrower policy, and what the command says of it. */
type Narrow = (folder: string, log: string) => Promise<{ readonly policy: string; readonly trimmed: Trimmed }>

const product: Narrow = async (folder, log) => {
  const policies = join(folder, 'policies')
  const out = join(folder, 'out')
  const trimmed = await trim({
    loaded: await loadPolicy(policies, WITH_ROUTES),
    resources: WITH_ROUTES,
    schemas: join(folder, 'schemas'),
    policies,
    matrices: join(folder, 'none'),
    files: [log],
    window: ALWAYS,
    keep: new Map(),
    out,
    onProgress: () => undefined,
  })
  return { policy: await readFile(join(out, 'policy.csv'), 'utf8'), trimmed }
}

function answersStay(narrow: Narrow, seen: { removed: number; stay: number }) {
  const requests = fc.array(randomRequest, { minLength: 1, maxLength: 8 })
  return fc.asyncProperty(generousPolicy, requests, async ({ files }, asked) => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    try {
      const before = await Promise.all(asked.map((request) => live(activeOf({ files }), request)))
      await mkdir(join(folder, 'policies'))
      for (const { name, text } of Object.values(files)) await writeFile(join(folder, 'policies', name), text)
      await writeFile(join(folder, 'policies/blocked.txt'), '')
      const log = join(folder, 'decisions.log')
      await writeFile(log, before.map(({ record }) => `${JSON.stringify(record)}\n`).join(''))
      const { policy: text, trimmed } = await narrow(folder, log)
      expect(isProven(trimmed.proof), JSON.stringify(trimmed.proof)).to.equal(true)
      seen.removed += trimmed.removed.length
      seen.stay += trimmed.stay.length
      const after: PolicyFiles = { ...files, 'policy.csv': { ...files['policy.csv'], text } }
      for (const [i, request] of asked.entries()) {
        const answer = answerOf(await live(activeOf({ files: after }), request))
        expect(answer, text).to.deep.equal(before[i] && answerOf(before[i]))
      }
    } finally {
      await removeFolder(folder)
    }
  })
}

describe('policy trim, for random policies and requests', () => {
  it('changes no answer', async () => {
    const seen = { removed: 0, stay: 0 }
    await drawing(
      () => fc.assert(answersStay(product, seen), { numRuns: runs(200, 20) }),
      () => expect(Math.min(seen.removed, seen.stay), JSON.stringify(seen)).to.be.above(0),
    )
  })

  it('would be found out if it took away one grant more', async () => {
    const greedy: Narrow = async (...about) => {
      const { policy, trimmed } = await product(...about)
      return { policy: policy.replace(/^p,.*,\s*allow$/m, ''), trimmed }
    }
    const outcome = await fc.check(answersStay(greedy, { removed: 0, stay: 0 }), {
      numRuns: 500,
      seed: 1,
      endOnFailure: true,
    })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})
