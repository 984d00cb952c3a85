/** The checkpoints of a log that its database keeps: the newest one, and what other instances have signed. */
import { instanceOf, offeredCheckpoint, offeredKey } from '../../decision-log/tree/cosigner.ts'
import { asWitness, checkpointIn, cosignedAt } from '../../decision-log/tree/signed-note.ts'
import type { LogCosignature, LogOffer } from '../../store/contract.ts'
import { type KnownKeys, type OutsideCheckpoint, signedByLog } from './tree-of-log.ts'

export interface NotesInDatabase {
  readonly checkpoint?: string | undefined
  readonly cosignatures: readonly LogCosignature[]
  /** Have the keys of the instances. */
  readonly offers: readonly LogOffer[]
}

interface DatabaseCheckpoints {
  readonly compared: readonly OutsideCheckpoint[]
  /** Names under which something stands there that neither the log nor this instance has signed. */
  readonly unsigned: readonly string[]
  /** The newest other log of an instance of the same name: this one may have begun in its place. */
  readonly namesake: { readonly log: string; readonly size: number } | undefined
}

export function checkpointsOfDatabase(
  { checkpoint, cosignatures, offers }: NotesInDatabase,
  known: KnownKeys,
): DatabaseCheckpoints {
  const compared: OutsideCheckpoint[] = []
  const unsigned: string[] = []
  if (checkpoint !== undefined) {
    compared.push({ ...(signedByLog(checkpoint, known) ?? unfit(checkpoint, known)), place: 'the database' })
  }
  for (const { by, note } of cosignatures) {
    const key = offers.flatMap(({ log, text }) => (log === by ? (offeredKey(log, text) ?? []) : []))[0]
    const isTheirs = key !== undefined && cosignedAt(note, asWitness(key)) !== undefined
    const found = signedByLog(note, known)
    if (!found && !isTheirs) unsigned.push(by)
    else compared.push({ ...(found ?? unfit(note, known)), place: isTheirs ? `the instance ${by}` : 'the database' })
  }
  return { compared, unsigned, namesake: namesakeOf(known.origin, offers) }
}

function namesakeOf(origin: string, offers: readonly LogOffer[]): DatabaseCheckpoints['namesake'] {
  for (const offer of offers) {
    const { log } = offer
    if (log === origin || instanceOf(log) !== instanceOf(origin)) continue
    const size = offeredCheckpoint(offer)?.size
    if (size !== undefined) return { log, size }
  }
  return undefined
}

/** A checkpoint by a key that the tree doesn't know fits no tree that the log's server would go on with. */
function unfit(note: string, { origin }: KnownKeys): Omit<OutsideCheckpoint, 'place'> {
  return { origin, size: checkpointIn(note)?.size ?? 0, root: '' }
}
