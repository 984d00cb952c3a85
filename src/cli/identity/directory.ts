/** The directory of the database that the environment names, for commands beside a server. */
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { type DirectoryAccess, type OpenDirectory, withDirectory } from '../../identity/directory/directory-access.ts'

/** Loads the engine only when a command needs it. */
export const openDirectory: OpenDirectory = async () =>
  (await import('../../tools/open-directory.ts')).openDirectoryBeside(readConfig(environment()))

/** Does a command's work and closes the directory after it. */
export function inDirectory<T>(work: (access: DirectoryAccess) => Promise<T>): Promise<T> {
  return withDirectory(openDirectory, work)
}
