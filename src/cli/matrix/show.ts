/** Commands that show what matrices say, and try nothing. */
import { Argument, type Command } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { printNote, printReport } from '../../present/print.ts'
import { MATRIX_PLACES, TEXT_OR_JSON, withHelp } from '../options.ts'

export const PATHS = new Argument('[paths...]', 'folders or files of matrices (*.csv) and cases (*.yaml)').default([
  'test/matrix',
])

export function declareShow(matrix: Command): void {
  withHelp(matrix.command('show'), {
    about: 'show the rows of matrices, and what is wrong with them',
    note: 'Exit code: 0, 1 for files with faults, 2 when it could not run.',
    examples: ['matrix show', 'matrix show test/matrix/orders.csv'],
  })
    .addArgument(PATHS)
    .addOption(TEXT_OR_JSON)
    .action(async (paths, { format }) => {
      const { SHOWN_FORMATS, showMatrices } = await import('../../tools/matrix/report/shown.ts')
      const shown = await showMatrices(paths)
      printReport(format, SHOWN_FORMATS[format](shown))
      if (shown.faults.length > 0) setExitCode(1)
    })
}

export function declareFind(matrix: Command): void {
  withHelp(matrix.command('find'), {
    about: 'find the cells that state the answer to a request',
    note: 'Exit code: 0, or 2 when it could not run.',
    examples: ["matrix find GET '/api/orders/{id}'", "matrix find DELETE '/api/orders/{id}' --role member"],
  })
    .argument('<method>', 'GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS')
    .argument('<path>', 'as the schema writes it: /api/orders/{id}')
    .addOption(MATRIX_PLACES)
    .option('--role <name...>', 'only this column: a role, member+auditor, anonymous, user:<id>; repeat for more', [])
    .addOption(TEXT_OR_JSON)
    .action(async (method, path, { matrices, role, format }) => {
      const { STATED_FORMATS, statedCells } = await import('../../tools/matrix/report/stated.ts')
      const cells = await statedCells(matrices, { method, path, columns: role })
      printReport(format, STATED_FORMATS[format](cells))
      if (cells.length === 0) printNote('no cell states it\n')
    })
}
