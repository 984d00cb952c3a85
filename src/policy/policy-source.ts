/** Where a policy comes from: a folder of files, or published versions (published/). */
import type { SourceFile } from '../base/diagnostic.ts'
import { type FolderReading, readBlockedFile, readInPlace } from './policy-files.ts'
import type { PolicyFolder } from './policy-folder.ts'

interface BlockedReading {
  readonly blocked: SourceFile
  /** The number of the published version; undefined for a folder. */
  readonly sequence?: number
}

/** All files, from one moment. `refusal`: why newer files were not read, but the previous ones. */
export interface PolicyReading extends Omit<FolderReading, 'place'> {
  /** The folder that all files were read from; undefined for a published version. */
  readonly place?: PolicyFolder
  /** The number of the published version; undefined for a folder. */
  readonly sequence?: number
}

export interface PolicySource {
  /** Never rejects. */
  read(): Promise<PolicyReading>
  /** blocked.txt alone. Rejects with FileError if it can't be read. */
  readBlocked(): Promise<BlockedReading>
}

export function policyFolderSource(directory: string): PolicySource {
  return {
    read: () => readInPlace(directory),
    readBlocked: async () => ({ blocked: await readBlockedFile(directory) }),
  }
}
