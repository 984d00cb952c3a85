/** sallyport matrix test */
import { SingleBar } from 'cli-progress'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { printReport } from '../present/print.ts'
import { parseReport, REPORTS, type ReportRequest, writeReports } from '../tools/matrix/report/reports.ts'
import { isGreen, type Run } from '../tools/matrix/run/result.ts'
import { testMatrices } from '../tools/matrix/run/test-matrices.ts'
import { openTargetPool, type TargetOptions } from '../tools/matrix/target/open-targets.ts'
import type { StartTrialServer } from '../tools/matrix/target/trial-target.ts'
import { interrupted, type MatrixSettings, newTargetCommand, type TargetFlags } from './matrix-command.ts'

interface Flags extends TargetFlags {
  readonly only?: RegExp
  readonly role: readonly string[]
  readonly resource: readonly string[]
  readonly bail: boolean
  readonly parallel?: number
  readonly report: readonly ReportRequest[]
  readonly format: 'text' | 'json'
}

const HELP = `
PATHS are folders or files of matrices (*.csv) and cases (*.yaml). docs/testing-policies.md tells how to write them.
Exit code: 0 when every cell is as expected, 1 when not, 2 when it could not run.

Examples:
  sallyport matrix test
  sallyport matrix test test/matrix/orders.csv --role member --report html=matrix.html
  sallyport matrix test --only 'DELETE .* as auditor'
  sallyport matrix test --url http://127.0.0.1:3000
  sallyport matrix test --url https://api.example.com --tokens tokens.yaml --setup-role admin`

export function matrixTestCommand(settings: MatrixSettings, startServer: StartTrialServer): Command {
  return newTargetCommand('test')
    .description('ask what every cell states, and show which answers differ')
    .argument('[paths...]', 'matrices', ['test/matrix'])
    .option('--only <pattern>', 'only cells whose title, as the report shows it, fits this regular expression', pattern)
    .option('--role <name...>', 'only columns that hold this role, or are written so; repeat for more', [])
    .option('--resource <name...>', 'only this resource; repeat for more', [])
    .option('--bail', 'stop at the first that is not as expected', false)
    .option('--parallel <number>', 'how many cells at once', count)
    .option('--report <format=file>', 'also write a report: text, junit, json or html; repeat for more', report, [])
    .addOption(new Option('--format <format>', 'how to print it').choices(['text', 'json']).default('text'))
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], flags: Flags) => {
      const run = await runWithProgress(paths, { ...settings(), ...flags }, startServer)
      // First, so that a report which can't be written doesn't take the result along.
      printReport(flags.format, REPORTS[flags.format]?.(run) ?? '')
      await writeReports(flags.report, run)
      if (!isGreen(run)) process.exitCode = 1
    })
}

async function runWithProgress(
  paths: readonly string[],
  flags: Flags & TargetOptions,
  startServer: StartTrialServer,
): Promise<Run> {
  const bar = new SingleBar({
    format: 'testing {bar} {value} of {total}, {red} wrong or not tried',
    noTTYOutput: false,
  })
  let red = 0
  try {
    return await testMatrices(paths, {
      ...flags,
      filter: { roles: flags.role, resources: flags.resource, ...(flags.only ? { only: flags.only } : {}) },
      signal: interrupted(),
      openTargets: (ground) => openTargetPool(ground, flags, startServer),
      started: (total) => bar.start(total, 0, { red }),
      observe: ({ outcome }) => {
        if (outcome !== 'passed') red++
        bar.increment({ red })
      },
    })
  } finally {
    bar.stop()
  }
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text, 'i')
  } catch {
    throw new InvalidArgumentError('It must be a regular expression.')
  }
}

function count(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999.')
  return Number(text)
}

function report(text: string, before: readonly ReportRequest[]): readonly ReportRequest[] {
  if (text === 'text') return before
  const request = parseReport(text)
  if (request) return [...before, request]
  throw new InvalidArgumentError(`It must be one of ${Object.keys(REPORTS).join(', ')}, = and a file.`)
}
