/** Whether an archive is whole. Reads all of it, and writes nothing. */
import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { ToolError } from '../load-policy.ts'
import { BACKUP, type Manifest } from './archive/manifest.ts'
import { type ArchiveFile, DamagedArchive, readArchive } from './archive/read-archive.ts'
import { refuseFolder } from './file-faults.ts'
import { leftoversIn } from './unfinished.ts'

/** Why an archive is damaged: sentences for people. */
export interface FoundDamage {
  readonly faults: readonly string[]
}

/** Throws ToolError if there is no archive or no key for it, and errors of the file system. */
export async function verify(archive: ArchiveFile): Promise<{ readonly manifest: Manifest } | FoundDamage> {
  await refuseNoArchive(archive)
  return orDamage(async () => ({ manifest: await readArchive(archive, BACKUP) }))
}

export async function refuseNoArchive({ file }: ArchiveFile): Promise<void> {
  if (existsSync(file)) return refuseFolder(file)
  const leftovers = await leftoversIn(dirname(resolve(file)))
  const begun = leftovers.find(({ of }) => of === basename(file))
  if (!begun) throw new ToolError(`there is no archive \`${file}\`; name the file that \`sallyport backup\` made`)
  const ended = begun.isDead ? 'was ended before it was complete' : 'is running, or was ended on another machine'
  throw new ToolError(`there is no archive \`${file}\`: the backup to it ${ended} (\`${begun.folder}\`)`)
}

export async function orDamage<T>(work: () => Promise<T>): Promise<T | FoundDamage> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DamagedArchive) return { faults: error.faults }
    throw error
  }
}
