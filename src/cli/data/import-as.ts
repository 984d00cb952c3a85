/** Runs an import: opens the caller's requests, and shows its progress on a terminal. */
import { randomUUID } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { type ImportReport, importData } from '../../tools/data/import/import-data.ts'
import { withProgress } from '../progress.ts'
import { asCaller } from './as-caller.ts'
import type { ImportFlags } from './as-flags.ts'
import { stopped } from './stopped.ts'

/** Throws ToolError before anything is written, and what `asCaller` throws. */
export async function importAs(file: string, flags: ImportFlags, config: Config): Promise<ImportReport> {
  return asCaller(flags, config, (server) =>
    withProgress('importing {bar} {percentage}% {eta_formatted} left', (bar) =>
      importData(server, {
        file,
        keepIds: flags.keepIds ?? false,
        fromLine: flags.fromLine,
        incomplete: flags.incomplete ?? false,
        run: flags.again ? randomUUID() : '',
        now: Date.now(),
        signal: stopped(),
        progress: { total: (rows) => bar.start(rows, 0), done: (rows) => bar.increment(rows) },
      }),
    ),
  )
}
