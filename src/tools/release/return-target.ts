/** Finds the version that a rollback returns to. */
import { ToolError } from '../load-policy.ts'
import { digestOf, readContent } from './content.ts'
import { type PlanOptions, planReturn, type ReleasePlan } from './plan.ts'
import type { Version } from './version.ts'

export interface Rollback {
  readonly plan: ReleasePlan
  /** The number of the version. */
  readonly of: number
}

/** The version that `named` names, or else the one before the current one. Throws ToolError. */
export async function planRollback(named: string | undefined, options: PlanOptions): Promise<Rollback> {
  const { target } = options
  // After an unfinished `apply`, the rollback undoes that `apply`; the version before it is already in force.
  const present = (await target.isHeldBack()) ? undefined : digestOf(await readContent(target.folder))
  const version = returnTarget(await target.history(), present, named)
  return { plan: await planReturn(version, await target.contentOf(version), options), of: version.number }
}

/**
 * `named`: a number or a revision. Without it, the version before the current one; if the current version's files were
 * edited since, that version itself. `present` is the digest of the current files, undefined for files that no version
 * has. Throws ToolError if there is no such version.
 */
export function returnTarget(
  history: readonly Version[],
  present: string | undefined,
  named: string | undefined,
): Version {
  const found =
    named === undefined
      ? before(history, present)
      : history.findLast(({ number, revision }) => named === String(number) || named === revision)
  if (found) return found
  if (named !== undefined)
    throw new ToolError(`there is no version \`${named}\`: take one from \`sallyport policy history\``)
  const why = history.length > 0 ? ': take one from `sallyport policy history` with --to' : ': nothing was applied yet'
  throw new ToolError(`there is no version before this one${why}`)
}

/** The version before a restored version is the one that was before the original; of those still kept, the last. */
function before(history: readonly Version[], present: string | undefined): Version | undefined {
  // Versions that only change blocked.txt have the rules of the one before.
  const releases = history.filter(({ kind }) => kind !== 'blocked' && kind !== 'unblocked')
  const current = releases.at(-1)
  if (current && current.digest !== present) return current
  return releases.findLast(({ number }) => number < (current?.of ?? current?.number ?? 0))
}
