/** A whole run, counted. */
import type { Outcome, Result } from './result.ts'

export interface Run {
  /** Where it ran: the address of the deployment, or undefined for this process. */
  readonly url: string | undefined
  /** RFC 3339, UTC. */
  readonly startedAt: string
  readonly milliseconds: number
  /** In the order of files and rows. */
  readonly results: readonly Result[]
  /** What could not be cleaned up and the like, a sentence each. */
  readonly remarks: readonly string[]
}

export type Counts = Readonly<Record<Outcome, number>>

export function countOf(results: readonly Result[]): Counts {
  const counts = { passed: 0, failed: 0, impossible: 0, 'left-out': 0 }
  for (const { outcome } of results) counts[outcome]++
  return counts
}

/** By file, in their order. */
export function countsByFile({ results }: Run): ReadonlyMap<string, Counts> {
  return new Map([...Map.groupBy(results, ({ place }) => place.file)].map(([file, some]) => [file, countOf(some)]))
}

export function isGreen({ results }: Run): boolean {
  return results.every(({ outcome }) => outcome === 'passed')
}
