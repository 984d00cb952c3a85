/** sallyport matrix coverage */
import { Command, Option } from 'commander'
import { printReport } from '../present/print.ts'
import { type Coverage, measureCoverage, percentOf } from '../tools/matrix/coverage/coverage.ts'
import { formatJson } from '../tools/matrix/coverage/format-json.ts'
import { formatText } from '../tools/matrix/coverage/format-text.ts'
import { toPage } from '../tools/matrix/coverage/page.ts'
import { readPredictedSuite } from '../tools/matrix/predict/suite.ts'
import { percent, type ReviewFolders } from './options.ts'

interface Flags {
  readonly policies?: string
  readonly schemas?: string
  readonly min: number
  readonly minRules: number
  readonly format: keyof typeof FORMATS
}

const FORMATS = { text: formatText, json: formatJson, html: toPage } as const

const HELP = `
A cell is a role (or anonymous), a method, a path and a way to relate to the object. An expectation depends on a rule
(a relation, a view) when it would not hold without it.
Exit code: 0, 1 when less than --min or --min-rules is covered, 2 when it could not run.

Examples:
  sallyport matrix coverage --min 90
  sallyport matrix coverage test/matrix --format html > coverage.html`

export function matrixCoverageCommand(folders: ReviewFolders): Command {
  return new Command('coverage')
    .description('show which cells nothing is stated about, and which rules no expectation depends on')
    .argument('[paths...]', 'matrices', ['test/matrix'])
    .option('--policies <directory>', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .option('--min <percent>', 'how many of the cells must be stated', percent, 0)
    .option(
      '--min-rules <percent>',
      'how many of the rules, relations and views an expectation must depend on',
      percent,
      0,
    )
    .addOption(new Option('--format <format>', 'how to print it').choices(Object.keys(FORMATS)).default('text'))
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], flags: Flags) => {
      const bench = await readPredictedSuite({ ...folders(), ...flags, matrices: paths }, Date.now())
      const coverage = measureCoverage(bench)
      printReport(flags.format, FORMATS[flags.format](coverage))
      if (!isEnough(coverage, flags)) process.exitCode = 1
    })
}

function isEnough({ cells, rules, relations, views }: Coverage, { min, minRules }: Flags): boolean {
  return percentOf(cells) >= min && percentOf([...rules, ...relations, ...views]) >= minRules
}
