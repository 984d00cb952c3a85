/** Runs an export: opens the caller's requests and the output, and shows its progress on a terminal. */
import type { Config } from '../../config/config.ts'
import { tell } from '../../present/print.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { exportData, exportText } from '../../tools/data/export/export-data.ts'
import { resourceNamed } from '../../tools/data/routes-of.ts'
import { withProgress } from '../progress.ts'
import { asCaller } from './as-caller.ts'
import type { ExportFlags } from './as-flags.ts'
import { openOutput } from './output.ts'
import { stopped } from './stopped.ts'

/** Whether the list of a named resource was refused. Throws ToolError and what `asCaller` throws. */
export async function exportAs(flags: ExportFlags, config: Config): Promise<boolean> {
  return asCaller(flags, config, async (server) => {
    const stored = storedResources(server.resources)
    const named = flags.resource.map((name) => resourceNamed(name, stored))
    await using output = await openOutput(flags.output)
    const exported = await withProgress('exported {value} objects', (bar) => {
      bar.start(0, 0)
      const progress = (objects: number) => bar.increment(objects)
      const resources = named.length > 0 ? named : stored
      return exportData(server, output, { resources, now: Date.now(), signal: stopped(), progress })
    })
    await output.finish()
    tell(exportText(exported))
    return named.length > 0 && exported.some(({ refused }) => refused !== undefined)
  })
}
