/** Soak leaves out the tests that do there what they do in `npm test` (.mocharc.soak.cjs). */
import { relative } from 'node:path'
import { sameInSoak } from './tiers.ts'

const ROOT = new URL('..', import.meta.url).pathname

export const mochaHooks = {
  beforeAll(this: Mocha.Context) {
    if (this.test?.parent) leaveOutSame(this.test.parent)
  },
}

export function leaveOutSame(root: Mocha.Suite): void {
  for (const [file, tests] of Map.groupBy(testsBelow(root), (test) => test.file ?? '')) {
    const bodies = tests.map(({ body }) => body)
    const same = new Set(sameInSoak(relative(ROOT, file), bodies))
    for (const { parent } of tests) if (parent) parent.tests = parent.tests.filter(({ body }) => !same.has(body))
  }
}

function testsBelow(suite: Mocha.Suite): readonly Mocha.Test[] {
  return [...suite.tests, ...suite.suites.flatMap(testsBelow)]
}
