/**
 * Notices that the files of a policy changed. A directory that was swapped (by rename, or by a symlink on its path) is
 * whole and taken at once; edits in place are taken when nothing has changed for a while. Polling sees both on every
 * file system, which change notifications don't: seven `stat` calls cost less than a tenth of a millisecond.
 */
import { realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { LivePolicy } from './live-policy.ts'
import { POLICY_FILES, versionOf } from './policy-files.ts'

const POLL_MS = 100
/** Edits in place are taken after so long without another. It can't know that an editor meant to save a second file. */
const QUIET_MS = 300

/** How a directory looks from outside: which directory it is, and what its files' metadata are. */
interface Look {
  readonly directory: string
  readonly files: string
}

/** Reloads `policy` on a change until the returned function is called. */
export async function watchPolicy(policy: LivePolicy): Promise<() => void> {
  // Unknown, because the files may have changed since the policy was opened: the first look takes them once more.
  let taken: Look | undefined
  let seen = await look(policy.directory)
  let seenAt = 0
  let busy = false

  const tick = async () => {
    const now = await look(policy.directory)
    if (now.files !== seen.files || now.directory !== seen.directory) {
      seen = now
      seenAt = performance.now()
    }
    const changed = seen.files !== taken?.files || seen.directory !== taken.directory
    const whole = seen.directory !== taken?.directory
    if (!changed || !(whole || performance.now() - seenAt >= QUIET_MS)) return
    const before = seen
    await policy.reload()
    taken = before
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
  const files = await Promise.all(POLICY_FILES.map((file) => metadata(join(directory, file))))
  const path = await realpath(directory).catch(() => 'missing')
  const version = await versionOf(directory)
  return { directory: `${path} ${await identity(directory)} ${version}`, files: files.join('\n') }
}

async function identity(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found ? `${found.dev} ${found.ino}` : 'missing'
}

async function metadata(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : 'missing'
}
