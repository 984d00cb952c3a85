/** sallyport policy matrix */
import { Command, Option } from 'commander'
import { livingAt } from '../policy/ends.ts'
import { didYouMean } from '../problems/did-you-mean.ts'
import { print } from '../problems/print.ts'
import { loadResources } from '../resources/load-resources.ts'
import type { Resources } from '../resources/resource.ts'
import { AT, timeOf } from '../review/at.ts'
import { loadPolicy, ReviewError } from '../review/load-policy.ts'
import { chooseColumns } from '../review/matrix/columns.ts'
import { buildMatrix, type Matrix } from '../review/matrix/matrix.ts'
import { toHtml } from '../review/matrix/page.ts'
import { toCsv } from '../review/matrix/to-csv.ts'
import { toJson } from '../review/matrix/to-json.ts'
import { toTable } from '../review/matrix/to-table.ts'
import type { ReviewFolders } from './policy-command.ts'

interface Flags {
  readonly policies?: string
  readonly schemas?: string
  readonly role: readonly string[]
  readonly resource: readonly string[]
  readonly at?: string
  readonly format: keyof typeof FORMATS
}

/** Characters; where output isn't a terminal. */
const USUAL_WIDTH = 80

const FORMATS = {
  table: (matrix: Matrix) => toTable(matrix, process.stdout.columns ?? USUAL_WIDTH),
  csv: toCsv,
  json: toJson,
  html: toHtml,
} as const

export function policyMatrixCommand(folders: ReviewFolders): Command {
  return new Command('matrix')
    .description('who can do what: every caller at every method, path and relation')
    .option('--policies <directory>', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .option(
      '--role <name...>',
      'show this caller only: a role, anonymous, everyone or user:<id>; a+b adds a caller who holds both; repeat for more',
      [],
    )
    .option('--resource <name...>', 'show this resource only; repeat for more', [])
    .option(...AT)
    .addOption(new Option('--format <format>', 'how to print it').choices(Object.keys(FORMATS)).default('table'))
    .action(async (flags: Flags) => {
      print(FORMATS[flags.format](await matrixOf(folders, flags)))
    })
}

async function matrixOf(folders: ReviewFolders, flags: Flags): Promise<Matrix> {
  const directories = { ...folders(), ...flags }
  const resources = await loadResources(directories.schemas)
  const reviewed = await loadPolicy(directories.policies, resources)
  const now = timeOf(flags.at, Date.now())
  return buildMatrix(reviewed, {
    resources,
    columns: chooseColumns(livingAt(reviewed.policy, now), flags.role),
    only: chosenResources(resources, flags.resource),
    now,
  })
}

function chosenResources({ byName }: Resources, asked: readonly string[]): ReadonlySet<string> | undefined {
  const unknown = asked.find((name) => !byName.has(name))
  if (unknown !== undefined) {
    throw new ReviewError(
      `no schema declares the resource \`${unknown}\`; --resource takes ${[...byName.keys()].join(', ')}${didYouMean(unknown, byName.keys())}`,
    )
  }
  return asked.length > 0 ? new Set(asked) : undefined
}
