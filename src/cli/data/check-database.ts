/** Opens what `data check` needs, and shows its progress on a terminal. */
import { FileError } from '../../base/diagnostic.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import type { ObjectReader } from '../../store/object-reader.ts'
import type { Database } from '../../store/open.ts'
import { checkData, type DataReport, type DataToCheck } from '../../tools/data/check/check-data.ts'
import { resourceNamed } from '../../tools/data/routes-of.ts'
import { loadPolicy, type PolicyPlace, ToolError } from '../../tools/load-policy.ts'
import { withReader } from '../../tools/read-database.ts'
import { policyPlace } from '../policy/policy-place.ts'
import type { VersionSettings } from '../policy/release-target.ts'
import { withProgress } from '../progress.ts'

interface Asked extends VersionSettings {
  readonly schemas: string
  readonly policies: string
  /** The resources to check; empty for all. */
  readonly only: readonly string[]
}

/** Throws FileError for faulty schemas, and ToolError. */
export async function checkDatabase(asked: Asked): Promise<DataReport> {
  const resources = await loadResources(asked.schemas)
  const stored = storedResources(resources)
  const checked = asked.only.length === 0 ? stored : asked.only.map((name) => resourceNamed(name, stored))
  const policy = await policyFor(policyPlace(asked.policies, asked), resources)
  return withReader(asked.database, async (reader) => {
    await refuseOtherDatabase(reader, stored, asked.database)
    return withProgress('checking {bar} {percentage}% {eta_formatted} left', (bar) => {
      const progress = { total: (rows: number) => bar.start(rows, 0), checked: (rows: number) => bar.increment(rows) }
      return checkData({ reader, resources, checked, undeclared: asked.only.length === 0, policy }, progress)
    })
  })
}

/** Faults of the policy don't stop the check: new schemas may lack a field that the present policy names. */
async function policyFor(place: PolicyPlace, resources: Resources): Promise<DataToCheck['policy']> {
  try {
    return (await loadPolicy(place, resources)).policy
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { unfit: `the policy does not fit the schemas (${error.message.split('\n')[0]})` }
  }
}

/** A database without any of the tables says nothing about the data. Throws ToolError. */
async function refuseOtherDatabase(
  reader: ObjectReader,
  stored: readonly Resource[],
  { name }: Database,
): Promise<void> {
  for (const resource of stored) if (await reader.hasTable(resource)) return
  throw new ToolError(
    `the database \`${name}\` has no objects of these schemas: check DATA_DIR and DATABASE_URL, or give --database`,
  )
}
