/** What tells one kind of archive from another: of a backup, of evidence. */

/** The last entry of every archive. */
export const MANIFEST = 'manifest.json'

/** The first entry: it tells a program whether it can read the rest. */
export interface Beginning {
  readonly format: number
  /** The version of the program that made it. */
  readonly program: string
  /** RFC 3339, UTC. */
  readonly createdAt: string
}

export interface PartSum {
  readonly name: string
  readonly bytes: number
  /** SHA-256 in hexadecimal. */
  readonly sha256: string
}

export interface AnyManifest extends Beginning {
  /** In the order of the archive. */
  readonly parts: readonly PartSum[]
}

interface ShapeError {
  readonly instancePath: string
}

export interface ArchiveKind<M extends AnyManifest> {
  /** The name of the first entry. */
  readonly beginning: string
  /** A program reads archives of this format and of earlier ones. */
  readonly format: number
  /** The command that makes it, as a sentence names it. */
  readonly command: string
  /** Other names could lead elsewhere. */
  readonly isPart: (name: string) => boolean
  /** Whether the part may be of any size. */
  readonly isLarge: (name: string) => boolean
  readonly isManifest: ((value: unknown) => boolean) & { errors?: readonly ShapeError[] | null }
  /** What is missing, by the names of its parts: sentences for people. */
  readonly missing: (names: readonly string[], manifest: M) => readonly string[]
}
