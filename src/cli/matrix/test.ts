/** sallyport matrix test: asks a server what every cell states, and reports the answers that differ. */

import { InvalidArgumentError } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { printReport } from '../../present/print.ts'
import { type CliCommand, type TextOrJson, wholeNumber } from '../options.ts'
import { interrupted, withProgress } from '../progress.ts'
import { PATHS, RESOURCE, type TargetFlags, targetSettings, withTargetOptions } from './target-options.ts'

const REPORT_FORMATS = ['text', 'junit', 'json', 'html', 'sarif'] as const

type ReportFormat = (typeof REPORT_FORMATS)[number]

interface TestFlags extends TargetFlags {
  readonly only?: RegExp
  readonly role: readonly string[]
  readonly resource: readonly string[]
  readonly bail: boolean
  readonly parallel?: number
  readonly report: readonly { readonly format: ReportFormat; readonly file: string }[]
  readonly format: TextOrJson
}

export function declareTest(matrix: CliCommand): void {
  withTargetOptions(matrix.command('test'))
    .description('send the request of each cell, and show unexpected answers')
    .argument(...PATHS)
    .option('--only <pattern>', 'only cells whose title in the report matches this regular expression', pattern)
    .option('--role <name...>', 'only columns with this role or name; repeat for more', [])
    .option(...RESOURCE)
    .option('--bail', 'stop at the first unexpected answer', false)
    .option('--parallel <number>', 'how many cells to try at once', wholeNumber(1, 999))
    .option(
      '--report <format=file>',
      'also write a report: text, junit, json, html or sarif; repeat for more',
      report,
      [],
    )
    .formats()
    .note(`docs/testing-policies.md explains how to write matrices and cases.
Exit code: 0 when all answers are as expected, 1 when not, 2 when the command could not run.`)
    .examples(
      'matrix test',
      'matrix test test/matrix/orders.csv --role member --report html=matrix.html',
      "matrix test --only 'DELETE .* as auditor'",
      'matrix test --url http://127.0.0.1:3000',
      'matrix test --url https://api.example.com --tokens tokens.yaml --setup-role admin',
    )
    .action(async (paths: readonly string[], flags: TestFlags) => {
      const { openTargetPool } = await import('../../tools/matrix/target/open-targets.ts')
      const { testMatrices } = await import('../../tools/matrix/run/test-matrices.ts')
      const { REPORTS, writeReports } = await import('../../tools/matrix/report/reports.ts')
      const { isGreen } = await import('../../tools/matrix/run/result.ts')
      const options = { ...targetSettings(flags), ...flags }
      const run = await withProgress('testing {bar} {value} of {total}, {red} wrong or not tried', (bar) => {
        let red = 0
        return testMatrices(paths, {
          ...options,
          filter: { roles: flags.role, resources: flags.resource, ...(flags.only ? { only: flags.only } : {}) },
          signal: interrupted(),
          openTargets: (suite) => openTargetPool(suite, options),
          started: (total) => bar.start(total, 0, { red }),
          observe: ({ outcome }) => {
            if (outcome !== 'passed') red++
            bar.increment({ red })
          },
        })
      })
      // Printed first, so that the result isn't lost if the report can't be written.
      printReport(flags.format, REPORTS[flags.format](run))
      await writeReports(flags.report, run)
      if (!isGreen(run)) setExitCode(1)
    })
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text, 'i')
  } catch {
    throw new InvalidArgumentError('It must be a regular expression.')
  }
}

function report(text: string, before: TestFlags['report']): TestFlags['report'] {
  if (text === 'text') return before
  const { name, file = '' } = /^(?<name>[a-z]+)=(?<file>.+)$/.exec(text)?.groups ?? {}
  const format = REPORT_FORMATS.find((one) => one === name)
  if (format) return [...before, { format, file }]
  throw new InvalidArgumentError(`Write FORMAT=FILE, where FORMAT is one of ${REPORT_FORMATS.join(', ')}.`)
}
