/** sallyport schema diff */

import { InvalidArgumentError, Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { printReport } from '../../present/print.ts'
import { type CliCommand, POLICIES, type PolicySettings } from '../options.ts'

const FAIL_ON = ['breaking', 'data', 'policy'] as const

interface DiffFlags {
  readonly schemas?: string
  readonly policies?: string
  readonly matrices: string
  readonly format: 'text' | 'json' | 'markdown' | 'sarif'
  readonly failOn: readonly string[]
}

export function declareSchemaDiff(schema: CliCommand, settings: PolicySettings): void {
  schema
    .command('diff')
    .description('compare two versions of the schemas: what a change means for clients, stored data and policies')
    .argument('<old>', 'a directory, or a git revision')
    .argument('<new>', 'a directory, or a git revision')
    .option('--schemas <directory>', 'the path of the schema files within a revision (SCHEMAS, schemas)')
    .option(...POLICIES)
    .option('--matrices <directory>', 'the matrices, if there are any', 'test/matrix')
    .formats('text', 'json', 'markdown', 'sarif')
    .addOption(
      new Option(
        '--fail-on <what>',
        'exit with 1 if something breaks for clients, data or policy; repeat, or use commas',
      )
        .choices(FAIL_ON)
        .argParser(failOn)
        .default([], 'never'),
    )
    .note(`OLD and NEW are each a directory or a git revision (main, HEAD~1, a tag, ...).
A revision can name a path from the top of the repository: main:deploy/schemas.
The policy files and the matrices are those of the working tree.
What may break counts as breaking. docs/changing-schemas.md lists the codes.
Exit code: 0, or 1 for a change that --fail-on names, or 2 when the schemas could not be compared.`)
    .examples('schema diff main schemas --fail-on breaking,data,policy', 'schema diff HEAD~1 HEAD --format markdown')
    .action(async (before: string, after: string, flags: DiffFlags) => {
      const { SCHEMA_DIFF_FORMATS } = await import('../../tools/schema/diff/formats.ts')
      const { diffSchemas } = await import('../../tools/schema/diff/compare-schemas.ts')
      const { breaksAny } = await import('../../tools/schema/diff/schema-change.ts')
      const { policyPlace } = await import('../policy/policy-place.ts')
      const usual = settings()
      const { schemas, policies, matrices } = { ...usual, ...flags }
      const place = policyPlace(policies, usual)
      const report = await diffSchemas({ before, after, schemas, policies: place, matrices, now: new Date() })
      printReport(flags.format, SCHEMA_DIFF_FORMATS[flags.format](report))
      if (breaksAny(report, flags.failOn)) setExitCode(1)
    })
}

function failOn(value: string, others: readonly string[]): readonly string[] {
  const named = value.split(',')
  if (named.every((one) => FAIL_ON.some((known) => known === one))) return [...others, ...named]
  throw new InvalidArgumentError(`Allowed choices are ${FAIL_ON.join(', ')}.`)
}
