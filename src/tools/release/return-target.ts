/** Finds the version that a rollback returns to. */
import { ReviewError } from '../load-policy.ts'
import { digestOf, readContent } from './content.ts'
import { type PlanOptions, planReturn, type ReleasePlan } from './plan.ts'
import { isHeldBack } from './swap-policy-files.ts'
import { isIntact, readHistory, readVersion, type Version } from './version.ts'

export interface Rollback {
  readonly plan: ReleasePlan
  /** The number of the version. */
  readonly of: number
}

/** The version that `named` names, or else the one before the current one. Throws ReviewError. */
export async function planRollback(named: string | undefined, options: PlanOptions): Promise<Rollback> {
  const { home } = options
  // After an unfinished `apply`, the rollback undoes that `apply`; the version before it is already in force.
  const present = (await isHeldBack(home.directory)) ? undefined : digestOf(await readContent(home.directory))
  const version = returnTarget(await readHistory(home), present, named)
  if (!(await isIntact(home, version))) {
    const which = `the files of version ${version.number}`
    throw new ReviewError(`${which} were edited: choose another version of \`sallyport policy history\``)
  }
  return { plan: await planReturn(version, await readVersion(home, version), options), of: version.number }
}

/**
 * `named`: a number or a revision. Without it, the version before the current one; if the current version's files were
 * edited since, that version itself. `present` is the digest of the current files, undefined for files that no version
 * has. Throws ReviewError if there is no such version.
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
    throw new ReviewError(`there is no version \`${named}\`: take one from \`sallyport policy history\``)
  const why = history.length > 0 ? ': take one from `sallyport policy history` with --to' : ': nothing was applied yet'
  throw new ReviewError(`there is no version before this one${why}`)
}

/** The version before a restored version is the one that was before the original; of those still kept, the last. */
function before(history: readonly Version[], present: string | undefined): Version | undefined {
  const current = history.at(-1)
  if (current && current.digest !== present) return current
  return history.findLast(({ number }) => number < (current?.of ?? current?.number ?? 0))
}
