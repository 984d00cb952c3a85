/** A random property that fails is told with its counterexample, not by a time-out. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { removeWithTests } from './ends-with-tests.ts'
import { boundShrinking } from './shrinking.ts'

const ROOT = new URL('..', import.meta.url).pathname
const PAST = { plugins: [boundShrinking<[number]>(() => 0)] }
const NEVER = { plugins: [boundShrinking<[number]>(() => Number.POSITIVE_INFINITY)] }

const numbers = fc.integer({ min: 0, max: 1_000_000 })
const CHECKS: Readonly<Record<string, (how: fc.Parameters<[number]>) => Promise<fc.RunDetails<[number]>>>> = {
  'a property': async (how) =>
    fc.check(
      fc.property(numbers, (n) => n < 1000),
      how,
    ),
  'a property of promises': (how) =>
    fc.check(
      fc.asyncProperty(numbers, async (n) => n < 1000),
      how,
    ),
}

describe('the counterexample of a random property', () => {
  for (const [kind, check] of Object.entries(CHECKS)) {
    it(`is the first one once the time for smaller ones is over: ${kind}`, async () => {
      const [first, smallest] = [await check(PAST), await check(NEVER)]
      expect([first.failed, first.numShrinks]).to.deep.equal([true, 0])
      expect(first.counterexample?.[0]).to.be.at.least(1000)
      expect([smallest.failed, smallest.counterexample]).to.deep.equal([true, [1000]])
    })
  }

  it('is looked for among all inputs, whatever the time is', () => {
    const { failed, interrupted, numRuns } = fc.check(
      fc.property(numbers, (n) => n >= 0),
      { ...PAST, numRuns: 50 },
    )
    expect([failed, interrupted, numRuns]).to.deep.equal([false, false, 50])
  })

  it('is told before the test times out', () => {
    const folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-shrinking-')))
    const file = join(folder, 'endless.mjs')
    writeFileSync(file, ENDLESS)
    const { stdout, status } = spawnSync(
      process.execPath,
      ['node_modules/mocha/bin/mocha.js', '--config', '.mocharc.json', '--no-parallel', file],
      { cwd: ROOT, encoding: 'utf8' },
    )
    expect(status).to.equal(1)
    expect(stdout).to.include('Counterexample: ').and.not.to.include('Timeout of')
  })
})

/** Each input takes a while, and there are many smaller ones. */
const ENDLESS = `
  import fc from '${import.meta.resolve('fast-check')}'
  import { setTimeout } from 'node:timers/promises'
  it('fails', () => {
    const texts = fc.array(fc.string({ minLength: 50 }), { minLength: 50 })
    return fc.assert(fc.asyncProperty(texts, async () => (await setTimeout(20), false)))
  }).timeout(6000)
`
