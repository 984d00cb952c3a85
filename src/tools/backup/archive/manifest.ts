/**
 * What an archive says of itself: its first entry names the format, its last entry is the manifest with a checksum of
 * each part. schemas/manifest.schema.json is the exact shape of the manifest.
 */
import type { CopiedOutbox } from '../../../store/copies.ts'

/** A program reads archives of this format and of earlier ones. */
export const FORMAT = 1

/** The first entry: it tells a program whether it can read the rest. */
export const BEGINNING = 'archive.json'

export const MANIFEST = 'manifest.json'

export interface Beginning {
  readonly format: number
  /** The version of the program that made it. */
  readonly program: string
  /** The time before which every acknowledged write is in the archive: RFC 3339, UTC. */
  readonly createdAt: string
}

export interface Manifest extends Beginning {
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
  /** In the order of the archive. */
  readonly parts: readonly PartSum[]
}

export interface PartSum {
  readonly name: string
  readonly bytes: number
  /** SHA-256 in hexadecimal. */
  readonly sha256: string
}

/** The groups of parts. Each is a folder of the archive. */
const GROUPS = ['database', 'keys', 'policies', 'schemas', 'migrations'] as const
export type PartGroup = (typeof GROUPS)[number]

const PLAIN_FILE = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/
const DATABASE_PART = /^[a-z0-9]{1,20}(?:[./][a-z0-9]{1,20})?$/

export interface PlaceOfPart {
  readonly group: PartGroup
  /** A plain file name, or the database's own name of the part. */
  readonly name: string
}

/** Undefined for a name that no archive has: it could lead elsewhere. */
export function placeOfPart(name: string): PlaceOfPart | undefined {
  const [folder = '', ...rest] = name.split('/')
  const group = GROUPS.find((one) => one === folder)
  const file = rest.join('/')
  if (group === undefined || !(group === 'database' ? DATABASE_PART : PLAIN_FILE).test(file)) return undefined
  return { group, name: file }
}

export function isPlainFile(name: string): boolean {
  return PLAIN_FILE.test(name)
}

export function positionOf({ lastWrite, waiting, firstWaiting }: CopiedOutbox): Manifest['decisionLog'] {
  return { lastWrite, waiting, firstWaiting: firstWaiting ?? null }
}
