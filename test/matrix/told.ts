/** What the cells of a run that aren't as expected say. */
import type { Result } from '../../src/tools/matrix/run/result.ts'

export function told(results: readonly Result[]): readonly string[] {
  return results.flatMap(({ outcome, title, why = '' }) => (outcome === 'passed' ? [] : [`${title}: ${why}`]))
}
