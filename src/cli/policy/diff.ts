/** sallyport policy diff */

import { Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { printReport } from '../../present/print.ts'
import { AT, type CliCommand, type FolderFlags, loadSchemaFiles, type PolicySettings, timeAt } from '../options.ts'

const DIRECTIONS = ['widening', 'narrowing', 'any'] as const

interface DiffFlags extends FolderFlags {
  readonly at?: string
  readonly format: 'text' | 'json' | 'markdown' | 'html'
  readonly failOn?: (typeof DIRECTIONS)[number]
}

export function declareDiff(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('diff')
    .description('compare two policies: which requests they decide differently')
    .argument('<old>', 'a directory, a git revision, or database:<version>')
    .argument('<new>', 'the same')
    .option('--policies <directory>', 'the path of the policy files within a revision (policies)')
    .option('--schemas <directory>', 'schema files for both policies (SCHEMAS, schemas)')
    .option(...AT)
    .formats('text', 'json', 'markdown', 'html')
    .addOption(new Option('--fail-on <direction>', 'exit with 1 if there is such a change').choices(DIRECTIONS))
    .note(`OLD and NEW are each a directory, a git revision (main, HEAD~1, a tag, ...), or a version that is published in
the database: database: (the last one), database:3, or database: and its revision.
A revision can name a path from the top of the repository: main:deploy/policies.
Both policies are read with the schemas of the working tree.
A change that may widen or narrow counts as both. A difference that starts when a rule ends (until=) has its time.
Exit code: 0, or 1 for a change that --fail-on names, or 2 when the policies could not be compared.`)
    .examples(
      'policy diff main policies --fail-on widening',
      'policy diff HEAD~1 HEAD --format markdown',
      'policy diff database: policies',
      'policy diff main policies --format html',
    )
    .action(async (before: string, after: string, flags: DiffFlags) => {
      const { DIFF_FORMATS } = await import('../../tools/diff/formats.ts')
      const { readSide } = await import('../../tools/diff/revision.ts')
      const { fails, reportOn } = await import('../../analysis/diff/compare-policies.ts')
      const { policyPlace } = await import('./policy-place.ts')
      const usual = settings()
      const { policies, schemas } = { ...usual, ...flags }
      const now = await timeAt(flags.at, Date.now())
      const resources = await loadSchemaFiles(schemas)
      const read = (side: string) => readSide(policyPlace(side, usual), policies, resources)
      const [old, young] = [await read(before), await read(after)]
      const report = reportOn({ before, after }, { before: old, after: young }, { resources, now })
      printReport(flags.format, DIFF_FORMATS[flags.format](report))
      if (flags.failOn && fails(report, flags.failOn)) setExitCode(1)
    })
}
