/** Runs that nobody watches, and what their cells say. */
import type { Suite } from '../../src/tools/matrix/predict/suite.ts'
import type { Result } from '../../src/tools/matrix/run/result.ts'
import { openTrialPool, startTrialServer } from '../../src/tools/matrix/target/trial-target.ts'

/** A run of all cells, in this process. */
export const HERE = {
  filter: { roles: [], resources: [] },
  openTargets: (suite: Suite) => openTrialPool(suite, startTrialServer),
  started: () => {},
  observe: () => {},
}

/** The cells that aren't as expected. */
export function told(results: readonly Result[]): readonly string[] {
  return results.flatMap(({ outcome, title, why = '' }) => (outcome === 'passed' ? [] : [`${title}: ${why}`]))
}
