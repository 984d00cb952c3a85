/** sallyport matrix init */
import { stat } from 'node:fs/promises'
import { Command } from 'commander'
import { didYouMean } from '../base/did-you-mean.ts'
import { print, tell } from '../present/print.ts'
import { ReviewError } from '../tools/load-policy.ts'
import { statedIn } from '../tools/matrix/cells/survey.ts'
import { columnsFor, everywhere, planMatrix } from '../tools/matrix/init/plan-matrix.ts'
import { storeNew, storeOver, textsIn } from '../tools/matrix/init/store-matrix.ts'
import { writeMatrix, writeMissing } from '../tools/matrix/init/write-matrix.ts'
import { readPredictedSuite } from '../tools/matrix/predict/suite.ts'
import type { Column } from '../tools/matrix/read/expectation.ts'
import { parseColumn } from '../tools/matrix/read/words.ts'
import type { ReviewFolders } from './options.ts'

interface Flags {
  readonly policies?: string
  readonly schemas?: string
  readonly out: string
  readonly missing: boolean
  readonly force: boolean
  readonly role: readonly string[]
}

const HELP = `
Writes one file a resource: every method, path and way to relate to the object, with the answer that the policy gives
now. Review it like a spreadsheet; from then on \`sallyport matrix test\` tells what has become different.
With --missing it writes only what no matrix of --out states, into new files like orders.missing.csv, or
orders.missing-2.csv where that is there. Nothing is replaced.
Exit code: 0, or 2 when it could not run; then nothing was written.

Examples:
  sallyport matrix init
  sallyport matrix init --missing --role auditor`

export function matrixInitCommand(folders: ReviewFolders): Command {
  return new Command('init')
    .description('write the complete matrix of the policy as it is, for review')
    .option('--out <directory>', 'where to write', 'test/matrix')
    .option('--policies <directory>', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .option('--missing', 'only cells that no matrix of --out states', false)
    .option(
      '--role <name...>',
      'these columns instead: a role, member+auditor, anonymous, user:<id>; repeat for more',
      [],
    )
    .option('--force', 'replace files that are there', false)
    .addHelpText('after', HELP)
    .action(async (flags: Flags) => {
      const written = await init({ ...folders(), ...flags })
      for (const path of written) print(`${path}\n`)
      if (written.length === 0) tell('nothing is missing: the matrices state every cell that can be asked\n')
    })
}

async function init(
  flags: Flags & { readonly policies: string; readonly schemas: string },
): Promise<readonly string[]> {
  const { out, missing, force } = flags
  const matrices = (await isFolder(out)) ? [out] : []
  const bench = await readPredictedSuite({ ...flags, matrices }, Date.now())
  const asked = flags.role.map((name) => columnOf(name, bench.grants.policy.roles))
  const columns = asked.length > 0 ? asked.flatMap(everywhere) : columnsFor(bench)
  const plan = planMatrix(bench, columns, missing ? statedIn(bench) : () => false)
  if (missing) return storeNew(out, writeMissing(plan, await textsIn(out)))
  const files = writeMatrix(plan, '')
  return force ? storeOver(out, files) : storeNew(out, files)
}

function columnOf(name: string, roles: ReadonlyMap<string, unknown>): Column {
  const parsed = parseColumn(name)
  if (parsed.kind !== 'parsed') throw new ReviewError(`--role: ${parsed.message}; ${parsed.hint}`)
  const column = parsed.value
  const unknown = column.kind === 'roles' ? column.roles.find((role) => !roles.has(role)) : undefined
  if (unknown === undefined) return column
  throw new ReviewError(
    `\`${unknown}\` is not a role of roles.yaml; --role takes anonymous, ${[...roles.keys()].join(', ')}${didYouMean(unknown, roles.keys())}`,
  )
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() ?? false
}
