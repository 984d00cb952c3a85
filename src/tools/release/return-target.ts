/** Which version a roll-back means. */
import { ReviewError } from '../load-policy.ts'
import type { Version } from './version.ts'

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
