/** Files of the key folder while they are written: each appears under its name only when it is whole. */
import { randomUUID } from 'node:crypto'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const NAME = /^\.[0-9a-f-]{36}$/
/** Milliseconds; far longer than it takes to write one and to give it its name. */
const DRAFT_MS = 60_000

/** The draft's path. Whoever writes one takes it away. */
export async function writeDraft(folder: string, text: string): Promise<string> {
  const draft = join(folder, `.${randomUUID()}`)
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  return draft
}

/**
 * Those of processes that were killed at it: a private half would stay in one after its key has lost it. `now`:
 * milliseconds since the epoch.
 */
export async function removeDrafts(folder: string, now: number): Promise<void> {
  const drafts = (await readdir(folder)).filter((name) => NAME.test(name)).map((name) => join(folder, name))
  for (const draft of drafts) {
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: now }))
    if (now - mtimeMs > DRAFT_MS) await rm(draft, { force: true })
  }
}
