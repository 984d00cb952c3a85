/** sallyport policy matrix */
import { printReport } from '../../present/print.ts'
import type { Holder } from '../../tools/permissions/background.ts'
import { AT, type CliCommand, type FolderFlags, type PolicySettings, timeAt } from '../options.ts'

interface MatrixFlags extends FolderFlags {
  readonly role: readonly string[]
  readonly resource: readonly string[]
  readonly relation?: string
  readonly with: string
  readonly at?: string
  readonly people?: true
  readonly format: 'table' | 'csv' | 'json' | 'html'
}

export function declareMatrix(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('matrix')
    .description('show who can do what: each caller, method, path and relation')
    .folders()
    .option(
      '--role <name...>',
      'only this caller: a role, anonymous, everyone or user:<id>; a+b is a caller with both roles; repeat for more',
      [],
    )
    .option('--resource <name...>', 'only this resource; repeat for more', [])
    .option('--relation <names>', 'only objects for which exactly these relations hold: owner+draft, or none')
    .option(
      '--with <names>',
      'suppose that exactly these conditions of the request hold: office+fresh, or none',
      'none',
    )
    .option(...AT)
    .option('--people', 'with --format html: also who holds each role, from the directory of the database')
    .formats('table', 'csv', 'json', 'html')
    .note(
      'Marks with ? depend on conditions of the request. Rows like draft>placed tell what a write may make of an object.',
    )
    .examples(
      'policy matrix',
      'policy matrix --with office+fresh',
      'policy matrix --role support --resource orders --relation placed+open',
      'policy matrix --role member --role support --format csv',
      'policy matrix --format html --people',
    )
    .action(async (flags: MatrixFlags) => {
      const { MATRIX_FORMATS } = await import('../../tools/permissions/formats.ts')
      const { readMatrix } = await import('../../tools/permissions/matrix.ts')
      const { policyPlace } = await import('./policy-place.ts')
      const usual = settings()
      if (flags.people && flags.format !== 'html') {
        const { ToolError } = await import('../../tools/load-policy.ts')
        throw new ToolError('--people is for the page alone: write `--format html --people`')
      }
      const at = await timeAt(flags.at, Date.now())
      const matrix = await readMatrix({
        ...usual,
        ...flags,
        policies: policyPlace(flags.policies ?? usual.policies, usual),
        roles: flags.role,
        only: flags.resource,
        holding: flags.with,
        now: at,
        people: flags.people ? await holders() : undefined,
      })
      printReport(flags.format, MATRIX_FORMATS[flags.format](matrix))
    })
}

/** Users and API keys, with their roles. */
async function holders(): Promise<readonly Holder[]> {
  const { inDirectory } = await import('../identity/directory.ts')
  return inDirectory(async ({ directory }) => {
    const { holdersOf } = await import('../../tools/permissions/background.ts')
    return holdersOf(await directory.people(), await directory.keys(), Date.now())
  })
}
