/** sallyport matrix …: writes, tests and measures the expected answers for each caller. */

import { InvalidArgumentError, Option } from 'commander'
import { environment, setExitCode } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { printReport, printResult, tell } from '../../present/print.ts'
import { OPERATORS, type Operator } from '../../tools/matrix/mutate/mutants.ts'
import type { PredictedSuite } from '../../tools/matrix/predict/suite.ts'
import { CliCommand, type FolderFlags, type FormatFlag, percent, type TextOrJson } from '../options.ts'
import { interrupted, withProgress } from '../progress.ts'
import type { NewMatrix } from './init.ts'
import { PATHS, RESOURCE, type TargetFlags, targetSettings, withTargetOptions } from './target-options.ts'
import { declareTest } from './test.ts'

export function matrixCommand(): CliCommand {
  const matrix = new CliCommand('matrix').description('write, test and measure the expected answers for each caller')
  declareTest(matrix)
  declareInit(matrix)
  declareCoverage(matrix)
  declareMutate(matrix)
  declareAttack(matrix)
  return matrix
}

type InitFlags = FormatFlag & FolderFlags & Omit<NewMatrix, keyof FolderFlags>

function declareInit(matrix: CliCommand): void {
  matrix
    .command('init')
    .description('write the complete matrix of the present policy, for review')
    .option('--out <directory>', 'the folder of the matrices', 'test/matrix')
    .folders()
    .option('--missing', 'write only cells that no matrix of --out states', false)
    .option('--role <name...>', 'only this column: a role, member+auditor, anonymous, user:<id>; repeat for more', [])
    .option('--force', 'replace existing files', false)
    .formats()
    .note(`The command writes one file for each resource: each method, path and set of relations, with the present
answer. Review the files in a spreadsheet program. After that, \`sallyport matrix test\` shows what has changed.
With --missing, it replaces no file: it writes new files like orders.missing.csv, or orders.missing-2.csv.
Exit code: 0, or 2 when it could not run; then it wrote nothing.`)
    .examples('matrix init', 'matrix init --missing --role auditor')
    .action(async (flags: InitFlags) => {
      const { initMatrix } = await import('./init.ts')
      const files = await initMatrix({ ...readConfig(environment()), ...flags })
      printResult(flags.format, { files }, files.map((path) => `${path}\n`).join(''))
      if (files.length === 0) tell('nothing is missing: the matrices state all possible cells\n')
    })
}

interface CoverageFlags extends FolderFlags {
  readonly min: number
  readonly minRules: number
  readonly format: 'text' | 'json' | 'html'
}

function declareCoverage(matrix: CliCommand): void {
  matrix
    .command('coverage')
    .description('show cells without an expectation, and rules that no expectation depends on')
    .argument(...PATHS)
    .folders()
    .option('--min <percent>', 'exit with 1 if fewer cells have an expectation', percent, 0)
    .option(
      '--min-rules <percent>',
      'exit with 1 if expectations depend on fewer rules, terms, right sides, relations and views',
      percent,
      0,
    )
    .formats('text', 'json', 'html')
    .note(`A cell is a caller, a method, a path and a set of relations to the object.
An expectation depends on a rule (a relation, a view) if it would not hold without it.
A term (a right side) is shown both ways if an expectation depends on its rule, and one on the term.
Exit code: 0, 1 when less than --min or --min-rules is covered, 2 when it could not run.`)
    .examples('matrix coverage --min 90', 'matrix coverage test/matrix --format html > coverage.html')
    .action(async (paths: readonly string[], flags: CoverageFlags) => {
      const { COVERAGE_FORMATS } = await import('../../tools/matrix/coverage/formats.ts')
      const { measureCoverage, partsOf, percentOf } = await import('../../tools/matrix/coverage/coverage.ts')
      const suite = await readSuite(paths, flags)
      const coverage = measureCoverage(suite)
      printReport(flags.format, COVERAGE_FORMATS[flags.format](coverage))
      const isEnough = percentOf(coverage.cells) >= flags.min && percentOf(partsOf(coverage)) >= flags.minRules
      if (!isEnough) setExitCode(1)
    })
}

async function readSuite(matrices: readonly string[], flags: FolderFlags): Promise<PredictedSuite> {
  const { readPredictedSuite } = await import('../../tools/matrix/predict/suite.ts')
  return readPredictedSuite({ ...readConfig(environment()), ...flags, matrices }, Date.now())
}

interface MutateFlags extends FolderFlags {
  readonly min: number
  readonly only: readonly Operator[]
  readonly resource: readonly string[]
  readonly format: TextOrJson
}

function declareMutate(matrix: CliCommand): void {
  matrix
    .command('mutate')
    .description('put typical mistakes into copies of the policy, and show those that no expectation notices')
    .argument(...PATHS)
    .folders()
    .option('--min <percent>', 'exit with 1 if expectations notice fewer of the mistakes', percent, 100)
    .addOption(
      new Option('--only <operator>', 'only this kind of mistake; repeat for more').default([]).argParser(readOperator),
    )
    .option(...RESOURCE)
    .formats()
    .note(`The command writes no file, and needs no server. With --resource, it makes only mistakes that can matter to this
resource, and judges them by the requests about it.

Mistakes:
${Object.entries(OPERATORS)
  .map(([name, meaning]) => `  ${name.padEnd(18)} ${meaning}`)
  .join('\n')}

Exit code: 0 when expectations notice at least --min percent of the mistakes, 1 when fewer, 2 when it could not run.`)
    .examples('matrix mutate', 'matrix mutate --only drop-deny --min 90', 'matrix mutate --resource orders')
    .action(async (paths: readonly string[], flags: MutateFlags) => {
      const { MUTATE_FORMATS } = await import('../../tools/matrix/mutate/formats.ts')
      const { mutate, scoreOf } = await import('../../tools/matrix/mutate/mutate.ts')
      const suite = await readSuite(paths, flags)
      const only = flags.only.length > 0 ? new Set(flags.only) : undefined
      const mutation = await withProgress('mutating {bar} {value} of {total}', (bar) =>
        mutate(suite, {
          only,
          resources: flags.resource,
          observe: (done, of) => (done === 0 ? bar.start(of, 0) : bar.update(done)),
        }),
      )
      printReport(flags.format, MUTATE_FORMATS[flags.format](mutation))
      if (scoreOf(mutation) < flags.min) setExitCode(1)
    })
}

interface AttackFlags extends TargetFlags {
  readonly resource: readonly string[]
  readonly format: TextOrJson
}

function declareAttack(matrix: CliCommand): void {
  withTargetOptions(matrix.command('attack'))
    .description('repeat the requests of each role as every other caller, and show answers that differ from the policy')
    .option(...RESOURCE)
    .formats()
    .note(`The command takes each request that a role may make about its own object, and repeats it as every other role
and without credentials, with the ids of others in path, query and body. It tries to reach other tenants and projects:
with the parents and attributes of others, and with rows that relate the caller to objects of others. It compares the
answers with the policy files.
Exit code: 0 when they agree, 1 when they differ or a request could not be tried, 2 when the command could not run.`)
    .examples('matrix attack --resource orders')
    .action(async (flags: AttackFlags) => {
      const { openTargetPool } = await import('../../tools/matrix/target/open-targets.ts')
      const { attackAll } = await import('../../tools/matrix/attack/attack-all.ts')
      const { ATTACK_FORMATS, reachesNoMore } = await import('../../tools/matrix/attack/attack-report.ts')
      const options = { ...targetSettings(flags), ...flags }
      const run = await withProgress('attacking {bar} {value} of {total}, {found} findings', (bar) => {
        let found = 0
        return attackAll({
          ...options,
          resources: flags.resource,
          signal: interrupted(),
          openTargets: (suite) => openTargetPool(suite, options),
          started: (total) => bar.start(total, 0, { found }),
          observe: ({ outcome }) => {
            if (outcome === 'different') found++
            bar.increment({ found })
          },
        })
      })
      printReport(flags.format, ATTACK_FORMATS[flags.format](run))
      if (!reachesNoMore(run) || run.remarks.some((remark) => remark.startsWith('The run ended early'))) setExitCode(1)
    })
}

function readOperator(text: string, before: readonly Operator[]): readonly Operator[] {
  if (Object.hasOwn(OPERATORS, text)) return [...before, text as Operator]
  throw new InvalidArgumentError(`It must be one of ${Object.keys(OPERATORS).join(', ')}.`)
}
