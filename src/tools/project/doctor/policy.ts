/** The schemas, the policy and the migrations, as their own commands check them. */

import { FileError } from '../../../base/diagnostic.ts'
import { type Checked, faulted, passed, warned } from '../../../base/problems/checked.ts'
import { fixIn } from '../../../base/problems/fix.ts'
import type { Config } from '../../../config/config.ts'
import { policyCheckOf, readingSchemas } from '../../../config/start/folders.ts'
import { readMigrations } from '../../../migrations/file/read-migrations.ts'
import { pendingOf } from '../../../migrations/run/pending.ts'
import { count } from '../../../present/text.ts'
import { loadResources } from '../../../resources/load/load-resources.ts'
import type { Resources } from '../../../resources/resource.ts'
import { databaseExists, openReader } from '../../../store/open.ts'
import { checkPolicy } from '../../check/check-policy.ts'
import type { PolicyPlace } from '../../load-policy.ts'

/** Undefined for faulty schemas, which `checks` reports. */
interface CheckedSchemas {
  readonly resources: Resources | undefined
  readonly checks: readonly Checked[]
}

export async function lookAtSchemas(config: Config): Promise<CheckedSchemas> {
  try {
    const resources = await readingSchemas(config, () => loadResources(config.schemas))
    const declared = [...resources.byName.values()].filter(({ builtIn }) => !builtIn).length
    return { resources, checks: [passed('schemas', `${count(declared, 'resource')} in ${config.schemas}`)] }
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { resources: undefined, checks: [faulted('schemas', faultsText(error), fixIn(error))] }
  }
}

export async function checkRules(
  config: Config,
  resources: Resources,
  place: PolicyPlace,
): Promise<readonly Checked[]> {
  const report = await checkPolicy({ policies: place, resources, users: undefined, now: new Date() })
  const { errors, warnings, findings } = report
  const summary = `${config.policies}: ${count(errors, 'error')}, ${count(warnings, 'warning')}`
  if (errors + warnings === 0) return [passed('policy', summary)]
  const [first] = findings.toSorted((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'))
  const message = `${summary}; first ${first?.file}:${first?.line}:${first?.column}: ${first?.message}`
  return [(errors > 0 ? faulted : warned)('policy', message, policyCheckOf(config))]
}

export async function checkMigrations(config: Config, resources: Resources): Promise<readonly Checked[]> {
  const files = await readMigrations(config.migrations)
  if (files.length === 0 || !databaseExists(config.database)) return [passed('migrations', 'none has to run')]
  const reader = await openReader(config.database)
  try {
    const { stored } = await reader.migrationState()
    const pending = pendingOf(files, stored, resources).map(({ name }) => `\`${name}\``)
    if (pending.length === 0) return [passed('migrations', `${count(files.length, 'migration')}, and each has run`)]
    return [faulted('migrations', `${pending.join(', ')} must run before a start`, 'sallyport data migrate')]
  } finally {
    await reader.close()
  }
}

function faultsText({ message, diagnostics, more }: FileError): string {
  const others = diagnostics.length - 1 + more
  return `${message.split('\n')[0]}${others > 0 ? ` (and ${others} more)` : ''}`
}
