/** sallyport serve */
import { isWholeProcess } from '../../base/command-process.ts'
import type { Flags } from '../../config/config.ts'
import { CliCommand, MIGRATIONS } from '../options.ts'

export function serveCommand(): CliCommand {
  return new CliCommand('serve')
    .description('start the server: it serves the resources of schemas/, guarded by policies/')
    .option('--demo', 'serve demo callers and data, in a separate data folder')
    .option('--port <number>', 'port to listen on (PORT, 3000)')
    .option('--workers <number>', 'number of server processes, to use several cores (WORKERS, 1)')
    .folders()
    .option(...MIGRATIONS)
    .option('--migrate', 'first run the migrations that have not run, in place of refusing to start')
    .examples('serve --demo', 'serve --port 8080 --workers 4', 'serve --migrate')
    .action(async (flags: Flags) => {
      if (!isWholeProcess()) throw new Error('a server is a process of its own')
      await (await import('./run-server.ts')).runServer(flags)
    })
}
