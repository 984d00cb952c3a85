/** Makes a server's folder (and database) of an archive: first reads the whole archive, then writes. */
import { resolve } from 'node:path'
import { COPY, type DatabasePlace, NotACopy, OccupiedDatabase } from '../../store/copies.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import { databaseIn, placeDatabase } from '../../store/open.ts'
import { ToolError } from '../load-policy.ts'
import { BACKUP, type Manifest, placeOfPart } from './archive/manifest.ts'
import { type ArchiveFile, DamagedArchive, readArchive } from './archive/read-archive.ts'
import { diskFault, folderFault } from './file-faults.ts'
import { RestoredFolder } from './restored-folder.ts'
import type { Leftover } from './unfinished.ts'
import { type FoundDamage, orDamage, refuseNoArchive } from './verify.ts'

export interface RestoreOptions {
  readonly archive: ArchiveFile
  /** Empty, or not there yet. */
  readonly directory: string
}

export interface Restored {
  readonly directory: string
  readonly manifest: Manifest
  /** What killed restores left in the folder; it is removed. */
  readonly leftovers: readonly Leftover[]
}

/**
 * Throws ToolError, UnfitDatabase and errors of the file system; then, and for a damaged archive, nothing is left in the
 * folder or the database.
 */
export async function restoreArchive(options: RestoreOptions): Promise<Restored | FoundDamage> {
  await refuseNoArchive(options.archive)
  return orDamage(() => restoreWhole(options))
}

async function restoreWhole({ archive, directory }: RestoreOptions): Promise<Restored> {
  const manifest = await readArchive(archive, BACKUP)
  refuseOtherEngine(manifest)
  const folder = await RestoredFolder.begin(resolve(directory)).catch((error) => {
    throw folderFault(directory, error)
  })
  let place: DatabasePlace | undefined
  try {
    place = await placeDatabase(databaseIn(folder.data))
    await fill(archive, manifest, { folder, place })
    await place.finish()
    await folder.finish()
    return { directory, manifest, leftovers: folder.leftovers }
  } catch (error) {
    await place?.abandon()
    await folder.abandon()
    throw diskFault(directory, restoreFault(error))
  }
}

/** Versions before 0.3 made archives of PostgreSQL. */
function refuseOtherEngine({ engine, program }: Manifest): void {
  if (engine === databaseIn('').engine) return
  throw new ToolError(
    `the archive is of a ${engine} database, which this version can't restore; restore it with version ${program}`,
  )
}

interface Places {
  readonly folder: RestoredFolder
  readonly place: DatabasePlace
}

/** The archive is read a second time; it must still be the same. */
async function fill(archive: ArchiveFile, manifest: Manifest, { folder, place }: Places): Promise<void> {
  const again = await readArchive(archive, BACKUP, async (part, content) => {
    const found = placeOfPart(part)
    if (!found) throw new DamagedArchive([`no archive has a part \`${part}\``])
    if (found.group !== 'database') await folder.write(found.group, found.name, content)
    else if (found.name === COPY) await place.take(content)
    else throw new DamagedArchive([`a copy of this engine has no part \`${found.name}\``])
  })
  if (JSON.stringify(again) !== JSON.stringify(manifest)) throw new DamagedArchive(['it changed while it was read'])
}

function restoreFault(error: unknown): unknown {
  if (error instanceof NotACopy) return new DamagedArchive([error.message])
  if (error instanceof OccupiedDatabase) return new ToolError(error.message)
  if (!(error instanceof StoreUnavailable)) return error
  const why = error.cause instanceof Error ? error.cause.message : String(error.cause)
  return new ToolError(`the database can't be written (${why})`)
}
