/**
 * CI_SEED makes random tests draw the same inputs again: a run of one commit can be repeated, and each commit tries others.
 * Without it every run draws anew. A test that fails has the last quarter of its time to say so.
 */
import fc from 'fast-check'
import { boundShrinking } from './shrinking.ts'

const { CI_SEED } = process.env

if (CI_SEED !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(CI_SEED) })

let deadline = Number.POSITIVE_INFINITY

fc.installGlobalPlugin(boundShrinking(() => deadline))

export const mochaHooks = {
  beforeEach(this: Mocha.Context) {
    const timeout = this.currentTest?.timeout() ?? 0
    deadline = timeout === 0 ? Number.POSITIVE_INFINITY : Date.now() + 0.75 * timeout
  },
}
