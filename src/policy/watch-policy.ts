/**
 * Notices that the files of a policy changed. A directory that was swapped (by rename, by a symlink on its path, by
 * `policy apply` or by Kubernetes) is whole and taken at once; edits in place are taken when nothing has changed for a while, and
 * blocked.txt for itself, so that edits of other files don't hold a block up. Polling sees all of that on every file
 * system, which change notifications don't: ten `stat` calls cost less than a tenth of a millisecond.
 */
import type { LivePolicy } from './live-policy.ts'
import { metadataOf, POLICY_FILES, RULE_FILES } from './policy-files.ts'
import { BLOCKED_FILE, filePath, findPolicyFolder, folderKey, type PolicyFolder } from './policy-folder.ts'

const POLL_MS = 100
/** Edits in place are taken after so long without another. It can't know that an editor meant to save a second file. */
const QUIET_MS = 300
/** A blocked.txt that is written to all the time is taken nevertheless, still within a second. */
const LONGEST_WAIT_MS = 600

/** No directory looks so. */
const ELSEWHERE = ''

/** How a directory looks from outside. */
interface Look {
  /** Which directory it is, and where its links lead. */
  readonly directory: string
  /** Files are being written one by one: those of before rule. */
  readonly held: boolean
  readonly rules: string
  readonly blocked: string
}

/** Reloads `policy` on a change until the returned function is called. */
export async function watchPolicy(policy: LivePolicy): Promise<() => void> {
  let directory = (await look(policy.directory)).directory
  // Nothing is known as taken, because the files may have changed since the policy was opened: they are taken once more.
  const rules = new Settling({ quietMs: QUIET_MS, longestMs: Number.POSITIVE_INFINITY })
  const blocked = new Settling({ quietMs: QUIET_MS, longestMs: LONGEST_WAIT_MS })
  let busy = false
  /** Rules that were edited in place are being loaded, which takes long where there are very many. */
  let loading = false

  /**
   * Whether another directory is there, or other links. While `policy apply` writes files one by one there is none, and it
   * ends with another one; where it doesn't end, its files are found as an edit.
   */
  const notice = (now: Look): boolean => {
    const moved = !now.held && now.directory !== directory
    // The files that are loading may be of the directory before, so it counts as another one until they are loaded.
    if (now.held) directory = ELSEWHERE
    else if (!loading) directory = now.directory
    return moved
  }

  const tick = async () => {
    const now = await look(policy.directory)
    const at = performance.now()
    const moved = notice(now)
    blocked.see(now.blocked, at)
    if (loading) {
      // When the directory was exchanged meanwhile, no single file of it is taken.
      if (!moved && blocked.isDue(at)) await takeBlocked()
      return
    }
    rules.see(now.rules, at)
    const due = { rules: moved || rules.isDue(at), blocked: moved || blocked.isDue(at) }
    if (due.rules && due.blocked) await takeAll()
    else if (due.rules) takeRules()
    else if (due.blocked) await takeBlocked()
  }

  /** Exchanged between the look and the reading, it may be exchanged back before the next look: all is taken once more. */
  const followTo = (place: PolicyFolder | undefined) => {
    if (place && folderKey(place) !== directory) directory = ELSEWHERE
  }

  const takeAll = async () => {
    followTo(await policy.reload())
    settle({ rules: true, blocked: true })
  }

  const takeRules = async () => {
    loading = true
    followTo(await policy.reload({ rules: true, blocked: false }))
    settle({ rules: true, blocked: false })
    loading = false
  }

  const takeBlocked = async () => {
    await policy.reload({ rules: false, blocked: true })
    settle({ rules: false, blocked: true })
  }

  /** Files that could not be read are tried again. */
  const settle = (tried: { readonly rules: boolean; readonly blocked: boolean }) => {
    const at = performance.now()
    const { unread } = policy
    if (tried.rules) unread.rules ? rules.putOff(at) : rules.take()
    if (tried.blocked) unread.blocked ? blocked.putOff(at) : blocked.take()
  }

  const timer = setInterval(() => {
    if (busy) return
    busy = true
    tick().finally(() => {
      busy = false
    })
  }, POLL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

async function look(directory: string): Promise<Look> {
  const place = await findPolicyFolder(directory, POLICY_FILES)
  const [rules, blocked] = await Promise.all([
    Promise.all(RULE_FILES.map((file) => metadataOf(filePath(place, file)))),
    metadataOf(filePath(place, BLOCKED_FILE)),
  ])
  return { directory: folderKey(place), held: place.held !== undefined, rules: rules.join('\n'), blocked }
}

/** When something that is looked at again and again has changed and settled. Times are milliseconds of one clock. */
interface Patience {
  /** A change is due when there was no other for so long. */
  readonly quietMs: number
  /** It is due after so long in any case. */
  readonly longestMs: number
}

export class Settling {
  readonly #patience: Patience
  #taken: string | undefined
  #seen: string | undefined
  #seenAt = 0
  /** When what was taken first had changed; undefined while it hasn't. */
  #changedAt: number | undefined

  constructor(patience: Patience) {
    this.#patience = patience
  }

  see(state: string, at: number): void {
    if (state === this.#seen) return
    this.#seen = state
    this.#seenAt = at
    this.#changedAt ??= at
  }

  isDue(at: number): boolean {
    if (this.#changedAt === undefined || this.#seen === this.#taken) return false
    return at - this.#seenAt >= this.#patience.quietMs || at - this.#changedAt >= this.#patience.longestMs
  }

  /** The files that were seen last could not be taken: they are due again as if they had changed now. */
  putOff(at: number): void {
    this.#taken = undefined
    this.#seenAt = at
    this.#changedAt = at
  }

  /** The files that were seen last are taken; the next look finds a later change. */
  take(): void {
    this.#taken = this.#seen
    this.#changedAt = undefined
  }
}
