/** Starts OpenTelemetry if OTEL_* ask for it; else nothing of it is loaded (test/programs/start.test.ts). */
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

export async function openTelemetry(
  config: Config,
  { log, metrics, isWorker }: { readonly log: Logger; readonly metrics: Metrics; readonly isWorker: boolean },
): Promise<Telemetry | undefined> {
  const { telemetry: settings } = config
  if (!settings) return undefined
  const { startTelemetry } = await import('../telemetry/telemetry.ts')
  const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'))
  return startTelemetry({ config, settings, log, metrics, version, isWorker })
}
