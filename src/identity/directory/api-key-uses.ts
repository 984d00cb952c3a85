/** When API keys were last used: remembered here, and written together once a minute and at the end, never with a request. */
import type { Directory } from '../../store/directory.ts'

export const WRITE_EVERY_MS = 60_000

export interface ApiKeyUses {
  /** `at`: milliseconds since the epoch. */
  readonly note: (id: string, at: number) => void
  /** Writes what is left. */
  readonly close: () => Promise<void>
}

/** `failed`: a write that did not come about; the uses are tried again. */
export function createApiKeyUses(
  directory: Pick<Directory, 'noteKeyUses'>,
  failed: (error: unknown) => void,
  everyMs = WRITE_EVERY_MS,
): ApiKeyUses {
  const uses = new Map<string, number>()
  const write = async () => {
    if (uses.size === 0) return
    const taken = new Map(uses)
    uses.clear()
    try {
      await directory.noteKeyUses(taken)
    } catch (error) {
      for (const [id, at] of taken) if (!uses.has(id)) uses.set(id, at)
      failed(error)
    }
  }
  const timer = setInterval(write, everyMs).unref()
  return {
    note: (id, at) => void uses.set(id, at),
    close: async () => {
      clearInterval(timer)
      await write()
    },
  }
}
