/** Decides logged requests again under a candidate, with a progress bar on a terminal. */
import { loadResources } from '../../resources/load/load-resources.ts'
import { type PolicyPlace, ToolError } from '../../tools/load-policy.ts'
import { openCandidate } from '../../tools/replay/candidate.ts'
import { sizeOf } from '../../tools/replay/read-log.ts'
import { type ReplayReport, replay } from '../../tools/replay/replay.ts'
import { withProgress } from '../progress.ts'

/** If no request was decided, `nothing differs` would say nothing about the candidate. Throws ToolError. */
export function refuseNothingDecided({ decided, undecidable }: ReplayReport): void {
  const count = [...undecidable.values()].reduce((total, one) => total + one, 0)
  if (decided > 0 || count === 0) return
  throw new ToolError(
    `none of ${count} requests could be decided again: name a log with the facts that the candidate needs`,
  )
}

interface ReplayCommand {
  readonly candidate: PolicyPlace
  readonly baseline: PolicyPlace | undefined
  readonly schemas: string
  readonly since?: number
  readonly until?: number
  readonly examples: number
}

/** Throws FileError and ToolError. */
export async function replayWithProgress(
  files: readonly string[],
  { schemas, since, until, examples, ...places }: ReplayCommand,
): Promise<ReplayReport> {
  const size = await sizeOf(files)
  const resources = await loadResources(schemas)
  const policies = {
    candidate: await openCandidate(places.candidate, resources),
    baseline: places.baseline === undefined ? undefined : await openCandidate(places.baseline, resources),
  }
  const window = { since: since ?? Number.NEGATIVE_INFINITY, until: until ?? Number.POSITIVE_INFINITY }
  const report = await withProgress('replaying {bar} {percentage}% {eta_formatted} left', (bar) => {
    bar.start(size, 0)
    return replay(policies, { files, ...window, maxExamples: examples, onProgress: (n) => bar.increment(n) })
  })
  refuseOtherFiles(files, report)
  return report
}

/**
 * Refuses a file that isn't a decision log, because "nothing differs" would be misleading. A log may be empty or partly
 * damaged.
 */
function refuseOtherFiles(files: readonly string[], report: ReplayReport): void {
  const { decided, unconcerned, undecidable, leftOut, otherLines } = report
  if (otherLines === 0 || decided + unconcerned + leftOut + undecidable.size > 0) return
  throw new ToolError(`${files.join(', ')} holds no decision record: name decision logs`)
}
