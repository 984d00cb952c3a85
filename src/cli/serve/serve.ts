/** sallyport serve */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { isWholeProcess } from '../../base/command-process.ts'
import type { Flags } from '../../config/config.ts'
import { DEMO_FOLDERS } from '../../tools/project/package-files.ts'
import { MIGRATIONS, POLICIES, PORT, SCHEMAS, withHelp } from '../options.ts'

export function serveCommand() {
  return withHelp(new Command('serve'), {
    about: 'start the server: it serves the resources of schemas/, guarded by policies/',
    examples: ['serve --demo', 'serve --port 8080 --workers 4', 'serve --migrate'],
  })
    .option('--demo', 'serve demo callers and data, in a separate data folder')
    .addOption(PORT)
    .option('--workers <number>', 'number of server processes, to use several cores (WORKERS, 1)')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(MIGRATIONS)
    .option('--migrate', 'first run the migrations that have not run, in place of refusing to start')
    .action(async (flags) => {
      if (!isWholeProcess()) throw new Error('a server is a process of its own')
      await (await import('./run-server.ts')).runServer(flags, demoFolders(flags, process.env))
    })
}

/**
 * `serve --demo` in a folder without schemas and policies serves those of the package: undefined where somebody named
 * one or the current folder has one.
 */
export function demoFolders(
  { demo, policies, schemas }: Flags,
  environment: Readonly<Record<string, string | undefined>>,
): typeof DEMO_FOLDERS | undefined {
  const isNamed = (policies ?? schemas) !== undefined || environment.POLICIES || environment.SCHEMAS
  const isThere = existsSync('policies') || existsSync('schemas')
  return demo && !isNamed && !isThere ? DEMO_FOLDERS : undefined
}
