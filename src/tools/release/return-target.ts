/** Which version a rollback means, and what it would change. */
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

/** To the version that `named` names, else to the one before. Throws ReviewError. */
export async function planRollback(named: string | undefined, options: PlanOptions): Promise<Rollback> {
  const { home } = options
  // An `apply` that began and did not end is what the rollback leaves; the version before it rules already.
  const present = (await isHeldBack(home.directory)) ? undefined : digestOf(await readContent(home.directory))
  const version = returnTarget(await readHistory(home), present, named)
  if (!(await isIntact(home, version))) {
    const which = `the files of version ${version.number}`
    throw new ReviewError(`${which} were edited since; choose another one of policy history`)
  }
  return { plan: await planReturn(version, await readVersion(home, version), options), of: version.number }
}

/**
 * `named`: a number or a revision; else the version before, which is the last one where its files were edited since
 * (`present` is the digest of what is there, undefined for files that no version has). Throws ReviewError where there is none.
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
  if (named !== undefined) throw new ReviewError(`no version is \`${named}\`; \`sallyport policy history\` lists them`)
  const why =
    history.length > 0 ? '; `sallyport policy history` lists those that are kept' : ': nothing was applied yet'
  throw new ReviewError(`there is no version before this one${why}`)
}

/** Before a version that was brought again stands what had stood before it; of those that are still there, the last. */
function before(history: readonly Version[], present: string | undefined): Version | undefined {
  const current = history.at(-1)
  if (current && current.digest !== present) return current
  return history.findLast(({ number }) => number < (current?.of ?? current?.number ?? 0))
}
