/** Checks a directory of schema files: every error for which the server would not start. */
import { MOST_FAULTS } from '../../../base/diagnostic.ts'
import { type FindingReport, findingFormats } from '../../../present/findings.ts'
import { SCHEMA_CODES } from '../../../resources/check/codes.ts'
import { findSchemaFaults } from '../../../resources/load/load-resources.ts'
import { refuseNoDirectory } from '../../load-policy.ts'

export const SCHEMA_CHECK_FORMATS = findingFormats('schema check', () =>
  Object.entries(SCHEMA_CODES).map(([code, fix]) => ({
    code,
    severity: 'error',
    meaning: `A schema file has the fault \`${code}\``,
    fix,
  })),
)

/** Throws ToolError if there is no such directory. */
export async function checkSchemas(directory: string): Promise<FindingReport> {
  await refuseNoDirectory(directory, 'schema')
  const { faults, sources } = await findSchemaFaults(directory)
  return {
    findings: faults.slice(0, MOST_FAULTS),
    errors: faults.length,
    warnings: 0,
    more: Math.max(0, faults.length - MOST_FAULTS),
    suppressed: 0,
    sources: new Map(sources.map(({ name, text }) => [name, text])),
  }
}
