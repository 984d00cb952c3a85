/** The directory of the database that the environment names, for commands beside a server. */
import { readConfig } from '../../config.ts'
import type { OpenDirectory } from '../../identity/directory/directory-access.ts'

/** Loads the engine only where a command comes to need it. */
export const openDirectory: OpenDirectory = async () =>
  (await import('../../server/parts/open-directory.ts')).openDirectory(readConfig(process.env))
