/** sallyport serve */
import { Command } from 'commander'

export interface ServeFlags {
  readonly demo?: boolean
  readonly port?: string
  readonly workers?: string
  readonly policies?: string
  readonly schemas?: string
}

export function serveCommand(serve: (flags: ServeFlags) => Promise<void>): Command {
  return new Command('serve')
    .description('serve the resources of schemas/, guarded by policies/')
    .option('--demo', 'with demo callers and data, in a data folder of its own')
    .option('--port <number>', 'port to listen on (PORT, 3000)')
    .option('--workers <number>', 'processes that serve, to use more cores (WORKERS, 1)')
    .option('--policies <directory>', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .action(serve)
}
