/**
 * The proof that a record is in a log, as a text that needs neither the log nor its server: C2SP's tlog-proof
 * (https://c2sp.org/tlog-proof), with the record, and the notes in which the log's keys announced each other, as its extra
 * data.
 */
import { isObject } from '../../base/is-object.ts'
import { parseRecord } from '../../decision-log/decision-record.ts'
import { linesToTheEnd, openFilesOfLog } from '../../decision-log/log-files.ts'
import { isHalfErased, personalParts, signedText } from '../../decision-log/sealed-line.ts'
import { announcedKey } from '../../decision-log/tree/log-key.ts'
import { isIncluded, leafHash } from '../../decision-log/tree/merkle.ts'
import type { SignedHistory } from '../../decision-log/tree/signed-history.ts'
import {
  base64,
  type Checkpoint,
  fromBase64,
  openNote,
  readCheckpoint,
  type VerifierKey,
} from '../../decision-log/tree/signed-note.ts'
import { minimumOf, TileTree } from '../../decision-log/tree/tiles.ts'
import { ToolError } from '../load-policy.ts'

const TITLE = 'c2sp.org/tlog-proof@v1'

interface ProofExtra {
  /** The line of the log. */
  readonly line: string
  /** The announcements of the log's keys, the oldest one first. */
  readonly keys: readonly string[]
}

interface SoughtRecord {
  readonly id: string
  readonly log: string
}

/** The proof of a request's record, under the newest checkpoint. Throws ToolError. */
export async function proveRecord(
  { id, log }: SoughtRecord,
  folder: string,
  { checkpoints, announcements }: SignedHistory,
): Promise<string> {
  const line = await lineOf(id, log)
  const newest = checkpoints.findLast(({ isAnnouncement }) => !isAnnouncement)
  const tree = new TileTree(folder, newest?.size ?? 0)
  const leaf = leafHash(signedText(line))
  const minimum = await minimumOf(folder)
  let index = tree.size - 1
  while (index >= minimum && tree.leaf(index) !== leaf) index -= 1
  if (!newest || index < minimum) {
    throw new ToolError(
      `the record of ${id} isn't signed: if it is a second old, try again; else \`decisions verify\` says whether it was changed`,
    )
  }
  const extra: ProofExtra = { line, keys: announcements.slice(0, newest.by) }
  const hashes = tree.inclusion(index).map((one) => `${base64(one)}\n`)
  const head = `${TITLE}\n${extraText(extra)}\nindex ${index}\n`
  return `${head}${hashes.join('')}\n${newest.note}`
}

async function lineOf(id: string, log: string): Promise<string> {
  await using opened = new AsyncDisposableStack()
  for (const file of (await openFilesOfLog(log)).map((one) => opened.use(one))) {
    for await (const line of linesToTheEnd(file)) {
      if (line.includes(id) && parseRecord(line)?.requestId === id) return line
    }
  }
  throw new ToolError(`the log has no record of the request ${id}`)
}

const CHANGED = 'the record, its number or a hash of it was changed'

export interface ProvenRecord {
  readonly line: string
  readonly index: number
  readonly checkpoint: Checkpoint
}

/** The record, or why the text proves none. `key`: one that the log had at some time up to the checkpoint. */
export function readProof(text: string, key: VerifierKey): ProvenRecord | string {
  const end = text.indexOf('\n\n')
  const [title, extraLine = '', indexLine = '', ...lines] = text.slice(0, end).split('\n')
  const index = /^index (?<index>0|[1-9]\d{0,14})$/.exec(indexLine)?.groups?.index
  const extra = extraIn(extraLine)
  const hashes = lines.map(fromBase64)
  if (end < 0 || title !== TITLE || index === undefined || !extra || hashes.includes(undefined)) {
    return 'it is no proof that `decisions prove` wrote, or a part of it is missing'
  }
  const checkpoint = signedBy(text.slice(end + 2), key, extra.keys)
  if (!checkpoint) return 'the key has signed neither its checkpoint nor a key that did'
  const { size, root } = checkpoint
  const proven = { line: extra.line, index: Number(index), checkpoint }
  // What stands in an erased part is signed by nobody.
  if (personalParts(extra.line).some(isHalfErased)) return CHANGED
  return isIncluded(
    leafHash(signedText(extra.line)),
    { index: proven.index, size, root },
    hashes.map((one) => one ?? ''),
  )
    ? proven
    : CHANGED
}

/** Undefined for other data. */
function extraText({ line, keys }: ProofExtra): string {
  return `extra ${Buffer.from(JSON.stringify({ line, keys })).toString('base64')}`
}

/** Undefined for any other text than `extraText` makes: one proof has one form. */
function extraIn(text: string): ProofExtra | undefined {
  const data = /^extra (?<data>[A-Za-z0-9+/]+=*)$/.exec(text)?.groups?.data
  try {
    const extra: unknown = JSON.parse(Buffer.from(data ?? '', 'base64').toString('utf8'))
    if (!isObject(extra) || typeof extra.line !== 'string' || !Array.isArray(extra.keys)) return undefined
    const { line, keys } = extra
    return keys.every((one) => typeof one === 'string') && extraText({ line, keys }) === text
      ? { line, keys }
      : undefined
  } catch {
    return undefined
  }
}

/** The key may be any of the log's: those that come after it follow from it. */
function signedBy(note: string, key: VerifierKey, announcements: readonly string[]): Checkpoint | undefined {
  let current = key
  for (const announcement of announcements) current = announcedKey(announcement, current)?.key ?? current
  const found = readCheckpoint(openNote(note, current) ?? '')
  return found?.origin === key.name ? found : undefined
}
