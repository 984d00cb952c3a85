/**
 * Notices that the files of a policy changed. A directory that was swapped (by rename, by a symlink on its path, by
 * `policy apply` or by Kubernetes) is complete and is loaded at once. Edits in place are loaded when nothing has
 * changed for a while; blocked.txt is loaded separately, so that edits of other files don't delay a block. It polls,
 * because polling sees all these changes on every file system and change notifications don't; a look takes less than
 * a millisecond of CPU.
 */

import { lookOfRules, metadataOf, POLICY_FILES } from '../policy-files.ts'
import { BLOCKED_FILE, filePath, findPolicyFolder, folderKey, type PolicyFolder } from '../policy-folder.ts'
import type { LivePolicy } from './live-policy.ts'

const POLL_MS = 100
/**
 * Edits in place are loaded after this time without another edit. The watcher can't know that the user is about to save
 * a second file.
 */
const QUIET_MS = 300
/** A blocked.txt that changes all the time is still loaded after this time, so within a second. */
const LONGEST_WAIT_MS = 600

/** Differs from the look of every directory. */
const ELSEWHERE = ''

/** The state of a directory, as far as its links and the metadata of its files show it. */
interface FolderState {
  /** The identity of the directory, and the targets of its links. */
  readonly directory: string
  /** Files are being written one by one, and the previous files are in force. */
  readonly held: boolean
  readonly rules: string
  readonly blocked: string
}

/** Reloads `policy` when the files of `watched` change, until the returned function is called. */
export async function watchPolicy(policy: LivePolicy, watched: string): Promise<() => void> {
  let directory = (await look(watched)).directory
  // At first no file counts as loaded, because the files may have changed since the policy was opened: they are loaded
  // once more.
  const rules = new SettlingValue({ quietMs: QUIET_MS, longestMs: Number.POSITIVE_INFINITY })
  const blocked = new SettlingValue({ quietMs: QUIET_MS, longestMs: LONGEST_WAIT_MS })
  let busy = false
  /** Rules that were edited in place are being loaded, which takes long if there are very many. */
  let loading = false

  /**
   * Whether the directory or its links were exchanged. While `policy apply` writes files one by one this is false; it
   * becomes true when the command ends. If the command never ends, its files are found as edits.
   */
  const notice = (now: FolderState): boolean => {
    const moved = !now.held && now.directory !== directory
    // The files being loaded may be those of the directory before, so the directory counts as exchanged until they are
    // loaded.
    if (now.held) directory = ELSEWHERE
    else if (!loading) directory = now.directory
    return moved
  }

  const tick = async () => {
    const now = await look(watched)
    const at = performance.now()
    const moved = notice(now)
    blocked.see(now.blocked, at)
    if (loading) {
      // If the directory was exchanged meanwhile, no single file of it is loaded.
      if (!moved && blocked.isDue(at)) await takeBlocked()
      return
    }
    rules.see(now.rules, at)
    const due = { rules: moved || rules.isDue(at), blocked: moved || blocked.isDue(at) }
    if (due.rules && due.blocked) await takeAll()
    else if (due.rules) takeRules()
    else if (due.blocked) await takeBlocked()
  }

  /**
   * The directory was exchanged between the look and the reading, and may be exchanged back before the next look: all
   * files are loaded once more.
   */
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

async function look(directory: string): Promise<FolderState> {
  const place = await findPolicyFolder(directory, POLICY_FILES)
  const [rules, blocked] = await Promise.all([lookOfRules(place), metadataOf(filePath(place, BLOCKED_FILE))])
  return { directory: folderKey(place), held: place.held !== undefined, rules, blocked }
}

/** Decides when a polled value has changed and settled. Times are milliseconds of one clock. */
interface SettlingTimes {
  /** A change is due after this time without another change. */
  readonly quietMs: number
  /** A change is due after this time in any case. */
  readonly longestMs: number
}

export class SettlingValue {
  readonly #patience: SettlingTimes
  #taken: string | undefined
  #seen: string | undefined
  #seenAt = 0
  /** The time of the first change since the last load; undefined without a change. */
  #changedAt: number | undefined

  constructor(patience: SettlingTimes) {
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

  /** The files seen last could not be loaded: they are due again as if they had changed now. */
  putOff(at: number): void {
    this.#taken = undefined
    this.#seenAt = at
    this.#changedAt = at
  }

  /** The files seen last are loaded; the next look finds a later change. */
  take(): void {
    this.#taken = this.#seen
    this.#changedAt = undefined
  }
}
