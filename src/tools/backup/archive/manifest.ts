/**
 * What an archive says of itself: its first entry names the format, its last entry is the manifest with a checksum of
 * each part. schemas/manifest.schema.json is the exact shape of the manifest.
 */
import { isManifest } from '#compiled/backup-manifest'
import type { CopiedOutbox } from '../../../store/copies.ts'
import type { AnyManifest, ArchiveKind } from './archive-kind.ts'

/** `createdAt`: the time before which every acknowledged write is in the archive. */
export interface Manifest extends AnyManifest {
  readonly engine: string
  readonly database: {
    readonly layout: number
    readonly objects: Readonly<Record<string, number>>
  }
  readonly decisionLog: { readonly lastWrite: number; readonly waiting: number; readonly firstWaiting: number | null }
  readonly policy:
    | { readonly place: 'folder'; readonly revision: string }
    | { readonly place: 'database'; readonly sequence: number }
  readonly signingKeys:
    | { readonly place: 'folder'; readonly files: number }
    /** `secrets`: ids of the secrets that the keys are encrypted under. */
    | { readonly place: 'database'; readonly secrets: readonly string[] }
    | { readonly place: 'elsewhere' }
  /** Variables that a server needs, besides DATA_DIR, POLICIES and SCHEMAS, to use what is in the archive. */
  readonly needs: readonly string[]
}

/** The groups of parts. Each is a folder of the archive. */
const GROUPS = ['database', 'keys', 'policies', 'schemas', 'migrations'] as const
export type PartGroup = (typeof GROUPS)[number]

const PLAIN_FILE = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/
const NAMES: Readonly<Partial<Record<PartGroup, RegExp>>> = {
  database: /^[a-z0-9]{1,20}(?:[./][a-z0-9]{1,20})?$/,
  schemas: /^(?:commands\/)?[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/,
}

export interface PlaceOfPart {
  readonly group: PartGroup
  /** A plain file name, also one of a command's file in `commands/`, or the database's own name of the part. */
  readonly name: string
}

/** Undefined for a name that no archive has: it could lead elsewhere. */
export function placeOfPart(name: string): PlaceOfPart | undefined {
  const [folder = '', ...rest] = name.split('/')
  const group = GROUPS.find((one) => one === folder)
  const file = rest.join('/')
  if (group === undefined || !(NAMES[group] ?? PLAIN_FILE).test(file)) return undefined
  return { group, name: file }
}

export function positionOf({ lastWrite, waiting, firstWaiting }: CopiedOutbox): Manifest['decisionLog'] {
  return { lastWrite, waiting, firstWaiting: firstWaiting ?? null }
}

/** A server starts with nothing less. */
function missingGroups(names: readonly string[], { policy }: Manifest): readonly string[] {
  const needed = ['database', 'schemas', ...(policy.place === 'folder' ? ['policies'] : [])]
  const missing = needed.filter((group) => !names.some((name) => name.startsWith(`${group}/`)))
  return missing.map((group) => `it has nothing of \`${group}\``)
}

export const BACKUP: ArchiveKind<Manifest> = {
  beginning: 'archive.json',
  format: 1,
  command: 'sallyport backup',
  isPart: (name) => placeOfPart(name) !== undefined,
  isLarge: (name) => name.startsWith('database/'),
  isManifest,
  missing: missingGroups,
}
