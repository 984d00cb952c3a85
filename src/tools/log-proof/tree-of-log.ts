/** The tree of a log, for a command: what was signed, and the keys that vouch for it. */
import { historyEntries, readNewest } from '../../decision-log/tree/history.ts'
import { keptElsewhere, type SignedHistory, signedHistory } from '../../decision-log/tree/signed-history.ts'
import { type Checkpoint, keyText, readKeyText, type VerifierKey } from '../../decision-log/tree/signed-note.ts'
import { ToolError } from '../load-policy.ts'

/** Throws ToolError if there is no history, or no first key in it. */
export async function historyOf(folder: string): Promise<SignedHistory> {
  const entries = await historyEntries(folder)
  if (!entries) {
    throw new ToolError(`there is no tree ${folder}: the log was written by a version that signed none, or was moved`)
  }
  const history = signedHistory(entries, await readNewest(folder))
  if (history) return history
  throw new ToolError(`${folder}/checkpoints doesn't begin with a key: restore it from a copy`)
}

/** `text`: as the server tells it when it begins to sign. Throws ToolError for another text. */
export function givenKey(text: string): VerifierKey {
  const key = readKeyText(text.trim())
  if (key) return key
  throw new ToolError('--key is no key of a log: write it as the server tells it when it starts, sallyport/…+…+…')
}

/**
 * Throws ToolError unless it has signed the newest checkpoint, or a key that follows from it has: anybody can make a key
 * that announces another one.
 */
export function pinnedKey(text: string, { keys, origin, checkpoints }: SignedHistory): VerifierKey {
  const given = keyText(givenKey(text))
  const at = keys.findIndex((one) => keyText(one) === given)
  const own = keys[at]
  const newest = checkpoints.at(-1)
  if (own && newest && newest.by >= at) return own
  if (own && !newest && at === 0) return own
  throw new ToolError(
    `${origin} was signed by other keys than --key: it is another log, or somebody made its tree anew`,
  )
}

/** A checkpoint of the log that stands elsewhere. */
export interface OutsideCheckpoint extends Checkpoint {
  /** Where it stands, as a message names it. */
  readonly place: string
}

export function unreadDatabase(name: string, why: string): ToolError {
  return new ToolError(
    `the newest checkpoint is in the database ${name}, which can't be read (${why}): run this with the settings and the user of the server`,
  )
}

/** The keys of a log, and the one that stays while they change. */
export interface KnownKeys extends SignedHistory {
  readonly staying?: VerifierKey | undefined
}

/** Undefined if no key of the log has signed it. */
export function signedByLog(note: string, { staying, ...history }: KnownKeys): Checkpoint | undefined {
  return keptElsewhere(note, staying ? { ...history, keys: [...history.keys, staying] } : history)
}

/** Throws ToolError unless a key of the log has signed it. */
export function outsideCheckpoint(place: string, note: string, known: KnownKeys): OutsideCheckpoint {
  const found = signedByLog(note, known)
  if (found) return { ...found, place }
  throw new ToolError(`${place} is no checkpoint that a key of ${known.origin} signed`)
}
