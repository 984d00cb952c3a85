/** Opens the stages of the server for the caller that `--as` and `--role` name. */
import type { Config } from '../../config/config.ts'
import { type CommandServer, openCommandServer } from '../../tools/data/command-server.ts'
import type { AsFlags } from './as-flags.ts'
import { databaseNamed } from './database-flag.ts'

/** Throws ToolError, FileError, ConfigError and UnfitDatabase. */
export async function asCaller<T>(
  flags: AsFlags,
  config: Config,
  work: (server: CommandServer) => Promise<T>,
): Promise<T> {
  const server = await openCommandServer({
    config: {
      ...config,
      database: databaseNamed(flags.database, config.database),
      policies: flags.policies ?? config.policies,
      schemas: flags.schemas ?? config.schemas,
    },
    subject: flags.as,
    roles: flags.role,
  })
  try {
    return await work(server)
  } finally {
    await server.close()
  }
}
