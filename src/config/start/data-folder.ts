/** DATA_DIR as a start needs it: a folder in which this user may write. */
import { access, constants } from 'node:fs/promises'
import { makeFolder } from '../../base/files/make-folder.ts'
import { mendOfPath } from '../../base/files/mend-path.ts'
import { againWith } from '../../base/problems/mend.ts'
import { ConfigError } from '../values.ts'

/** Makes the folder if it is missing. Throws ConfigError. */
export async function openDataFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder)
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw dataFolderFault(folder, error as NodeJS.ErrnoException)
  }
}

export function dataFolderFault(folder: string, { code }: NodeJS.ErrnoException): ConfigError {
  return new ConfigError(
    `DATA_DIR is \`${folder}\`, which can't be used by user ${process.getuid?.() ?? ''} (${code}); set it to a writable folder`,
    mendOfPath(folder, code, againWith('DATA_DIR', '"$HOME/sallyport-data"')),
  )
}
