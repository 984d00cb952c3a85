/** Drafts of files in the key folder: each file gets its final name only when it is complete. */
import { randomUUID } from 'node:crypto'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const NAME = /^\.[0-9a-f-]{36}$/
/** Milliseconds; far longer than it takes to write and rename a draft. */
const DRAFT_MS = 60_000

/** Returns the draft's path. The caller must remove the draft. */
export async function writeDraft(folder: string, text: string): Promise<string> {
  const draft = join(folder, `.${randomUUID()}`)
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  return draft
}

/**
 * Removes drafts of processes that were killed while writing: otherwise a draft would keep a private half after its key
 * has lost it. `now`: milliseconds since the epoch.
 */
export async function removeDrafts(folder: string, now: number): Promise<void> {
  const drafts = (await readdir(folder)).filter((name) => NAME.test(name)).map((name) => join(folder, name))
  for (const draft of drafts) {
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: now }))
    if (now - mtimeMs > DRAFT_MS) await rm(draft, { force: true })
  }
}
