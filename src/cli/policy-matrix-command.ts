/** sallyport policy matrix */
import { Command, Option } from 'commander'
import { didYouMean } from '../base/did-you-mean.ts'
import { livingAt } from '../decide/rules/ends.ts'
import { print } from '../present/print.ts'
import { loadResources } from '../resources/load/load-resources.ts'
import type { Resources } from '../resources/resource.ts'
import { AT, timeOf } from '../tools/at.ts'
import { loadPolicy, ReviewError } from '../tools/load-policy.ts'
import { chooseColumns } from '../tools/permissions/columns.ts'
import { buildMatrix, type Matrix } from '../tools/permissions/matrix.ts'
import { toHtml } from '../tools/permissions/page.ts'
import { toCsv } from '../tools/permissions/to-csv.ts'
import { toJson } from '../tools/permissions/to-json.ts'
import { toTable } from '../tools/permissions/to-table.ts'
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
