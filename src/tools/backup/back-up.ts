/** Makes an archive of a server that may be running: its database, signing keys, policy and schemas. */
import { createReadStream, existsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { makeFolder } from '../../base/files/make-folder.ts'
import { nameNew } from '../../base/files/new-files.ts'
import { writingPlace } from '../../base/files/project-file.ts'
import type { Config } from '../../config/config.ts'
import { secretOf } from '../../identity/keys/embedded/key-seal.ts'
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import { COPY, type CopyFacts } from '../../store/copies.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import { copyDatabase, databaseExists, databaseIn } from '../../store/open.ts'
import { ToolError } from '../load-policy.ts'
import type { Beginning, PartSum } from './archive/archive-kind.ts'
import { BACKUP, type Manifest, positionOf } from './archive/manifest.ts'
import { type ArchivePart, writeArchive } from './archive/write-archive.ts'
import { diskFault, folderFault } from './file-faults.ts'
import { readSmallParts, type SmallParts } from './server/small-parts.ts'
import {
  beginUnfinished,
  type Leftover,
  leftoversIn,
  removeLeftover,
  syncFolder,
  type Unfinished,
} from './unfinished.ts'

export interface BackupOptions {
  readonly config: Config
  /** Undefined for a new file in `backups` of the data folder. */
  readonly file: string | undefined
  /** None for an archive that isn't encrypted. */
  readonly recipients: readonly string[]
  /** The version of this program. */
  readonly program: string
  readonly now: Date
}

export interface Backup {
  readonly file: string
  readonly manifest: Manifest
  /** Folders of backups that were ended before they were complete. */
  readonly leftovers: readonly FoundLeftover[]
}

interface FoundLeftover extends Leftover {
  /** Not if its process may be running, or was another user's. */
  readonly isRemoved: boolean
}

/** Throws ToolError, FileError, KeyError, LinkOut, and errors of the file system. Then no file is left. */
export async function backUp(options: BackupOptions): Promise<Backup> {
  const { config, now } = options
  refuseNothing(config)
  if (options.file !== undefined) await writingPlace(options.file)
  const file = resolve(options.file ?? join(config.dataDirectory, 'backups', defaultName(options)))
  if (existsSync(file)) throw taken(file)
  const folder = dirname(file)
  const { unfinished, leftovers } = await begin(file, { makesFolder: options.file === undefined }).catch((error) => {
    throw folderFault(folder, error)
  })
  try {
    const beginning: Beginning = { format: BACKUP.format, program: options.program, createdAt: now.toISOString() }
    const manifest = await archive(options, unfinished, beginning)
    await nameNew(join(unfinished.folder, 'archive'), file).catch((error) => {
      throw error.code === 'EEXIST' ? taken(file) : error
    })
    await syncFolder(folder)
    return { file, manifest, leftovers }
  } catch (error) {
    throw diskFault(folder, error)
  } finally {
    await unfinished.remove()
  }
}

function taken(file: string): ToolError {
  return new ToolError(`\`${file}\` exists already; name another file`)
}

async function begin(file: string, { makesFolder }: { readonly makesFolder: boolean }) {
  const folder = dirname(file)
  if (makesFolder) await makeFolder(folder)
  const leftovers: FoundLeftover[] = []
  for (const leftover of await leftoversIn(folder)) {
    leftovers.push({ ...leftover, isRemoved: leftover.isDead && (await removeLeftover(leftover)) })
  }
  return { unfinished: await beginUnfinished(folder, basename(file)), leftovers }
}

function refuseNothing({ database }: Config): void {
  if (database.engine !== databaseIn('').engine) {
    throw new ToolError(
      `${database.name} is no database file; back it up with \`pg_dump\`, as docs/backup.md says, and archive the folders beside it`,
    )
  }
  if (databaseExists(database)) return
  throw new ToolError(`there is no database \`${database.name}\`; set DATA_DIR or DATABASE_URL to that of the server`)
}

function defaultName({ now, recipients }: BackupOptions): string {
  const time = now.toISOString().replaceAll(/[:.]/g, '-')
  return `sallyport-${time}.tar${recipients.length > 0 ? '.age' : ''}`
}

async function archive(
  { config, recipients }: BackupOptions,
  { folder }: Unfinished,
  beginning: Beginning,
): Promise<Manifest> {
  try {
    const { file, facts } = await copyDatabase(config.database, folder)
    const small = await readSmallParts(config, facts)
    const manifest = (parts: readonly PartSum[]) => manifestOf({ config, beginning, facts, small, parts })
    const parts = [databasePart(file), ...small.parts]
    return await writeArchive(join(folder, 'archive'), { kind: BACKUP, beginning, parts, manifest }, recipients)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const why = error.cause instanceof Error ? error.cause.message : String(error.cause)
    const to = dirname(folder)
    throw new ToolError(
      `the database ${config.database.name} can't be copied to \`${to}\` (${why}); check the database and the disk`,
    )
  }
}

function databasePart(file: string): ArchivePart {
  return { name: `database/${COPY}`, bytes: statSync(file).size, content: bytesOf(file) }
}

/** Opens the file only when it is read, so that nothing is left open where the archive can't be begun. */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(file, { highWaterMark: 1024 * 1024 })
}

interface BackupInput {
  readonly config: Config
  readonly beginning: Beginning
  readonly facts: CopyFacts
  readonly small: SmallParts
  readonly parts: readonly PartSum[]
}

function manifestOf({ config, beginning, facts, small, parts }: BackupInput): Manifest {
  return {
    ...beginning,
    engine: config.database.engine,
    database: { layout: facts.layout, objects: facts.objects },
    decisionLog: positionOf(facts.outbox),
    policy:
      small.revision === undefined
        ? { place: 'database', sequence: facts.policySequence }
        : { place: 'folder', revision: small.revision },
    signingKeys: placeOfKeys(config, facts, small),
    needs: needsOf(config),
    parts,
  }
}

function placeOfKeys({ tokens: { keys } }: Config, facts: CopyFacts, small: SmallParts): Manifest['signingKeys'] {
  if (keys.kind !== 'embedded') return { place: 'elsewhere' }
  if (small.keyFiles > 0) return { place: 'folder', files: small.keyFiles }
  return { place: 'database', secrets: [...new Set(facts.signingKeys.flatMap((text) => secretOf(text) ?? []))].sort() }
}

/** The names only: values are secret, or belong to the machine. */
function needsOf({ policies, tokens, openId }: Config): readonly string[] {
  const { keys, issuer, audience } = tokens
  const needed: Readonly<Record<string, boolean>> = {
    KEYS_SECRET: keys.kind === 'embedded' && keys.secrets !== undefined,
    JWT_JWKS_URL: keys.kind === 'jwks',
    JWT_PUBLIC_KEY: keys.kind === 'public-key',
    JWT_ISSUER: issuer !== 'sallyport',
    JWT_AUDIENCE: audience !== 'sallyport',
    OIDC_ISSUER: openId !== undefined,
    POLICIES: policies === DATABASE_POLICIES,
    POLICY_PUBLIC_KEYS: policies === DATABASE_POLICIES,
  }
  return Object.keys(needed).filter((name) => needed[name])
}
