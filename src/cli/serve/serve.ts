/** sallyport serve */
import type { Flags } from '../../config.ts'
import { CliCommand, POLICIES, SCHEMAS } from '../options.ts'

export function serveCommand(): CliCommand {
  return new CliCommand('serve')
    .description('serve the resources of schemas/, guarded by policies/')
    .option('--demo', 'with demo callers and data, in a data folder of its own')
    .option('--port <number>', 'port to listen on (PORT, 3000)')
    .option('--workers <number>', 'processes that serve, to use more cores (WORKERS, 1)')
    .option(...POLICIES)
    .option(...SCHEMAS)
    .examples('serve --demo', 'serve --port 8080 --workers 4')
    .action(async (flags: Flags) => (await import('./run-server.ts')).runServer(flags))
}
