/** A migration file -> a migration. */
import { createHash } from 'node:crypto'
import { migration } from '#compiled/migration-files'
import type { Diagnostic, SourceFile } from '../../base/diagnostic.ts'
import { parseYaml, shapeBy } from '../../base/yaml-file.ts'
import type { Migration, MigrationStep } from '../steps/step.ts'

interface MigrationFile {
  readonly description?: string
  readonly resources: Readonly<Record<string, readonly MigrationStep[]>>
}

const shape = shapeBy<MigrationFile>(migration)

export interface ParsedMigration extends Migration {
  /** A diagnostic about one resource of the file. */
  readonly faultOf: (resource: string, code: string, message: string, hint?: string) => Diagnostic
  /** A diagnostic about the whole file. */
  readonly fault: (code: string, message: string, hint?: string) => Diagnostic
}

/** `name`: the file's name without its folder and ending. Reports faults, and then returns nothing. */
export function parseMigration(
  source: SourceFile,
  name: string,
  report: (fault: Diagnostic) => void,
): ParsedMigration | undefined {
  const file = parseYaml(source, shape, report)
  if (!file) return undefined
  const { description, resources } = file.value
  return {
    number: Number(name.slice(0, 4)),
    name,
    digest: createHash('sha256').update(JSON.stringify(resources)).digest('hex'),
    description,
    steps: new Map(Object.entries(resources)),
    faultOf: (resource, ...rest) => file.fault(['resources', resource], ...rest),
    fault: (...rest) => file.fault([], ...rest),
  }
}
