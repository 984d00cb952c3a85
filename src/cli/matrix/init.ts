/** Writes the complete matrix of a policy to new files, or only the cells that the matrices of a folder don't state. */
import { stat } from 'node:fs/promises'
import { didYouMean } from '../../base/did-you-mean.ts'
import { tryFolder } from '../../base/files/new-files.ts'
import { orTell, ToolError } from '../../tools/load-policy.ts'
import { statedIn } from '../../tools/matrix/cells/survey.ts'
import { columnsFor, everywhere, planMatrix } from '../../tools/matrix/init/plan-matrix.ts'
import { storeNew, storeOver, textsIn, writeMatrix, writeMissing } from '../../tools/matrix/init/write-matrix.ts'
import { readPredictedSuite } from '../../tools/matrix/predict/suite.ts'
import type { MatrixColumn } from '../../tools/matrix/read/expectation.ts'
import { parseColumn } from '../../tools/matrix/read/words.ts'

export interface NewMatrix {
  readonly policies: string
  readonly schemas: string
  /** The folder of the matrices. */
  readonly out: string
  readonly missing: boolean
  readonly force: boolean
  /** The columns; if empty, those of the policy. */
  readonly role: readonly string[]
}

/** The files that were written. Throws FileError and ToolError. */
export async function initMatrix(asked: NewMatrix): Promise<readonly string[]> {
  const { out, missing, force, role } = asked
  // The plan of a large policy takes long.
  if (!missing) await orTell(out, () => tryFolder(out))
  const matrices = (await isFolder(out)) ? [out] : []
  const suite = await readPredictedSuite({ ...asked, matrices }, Date.now())
  const named = role.map((name) => columnOf(name, suite.evaluated.policy.roles))
  const columns = named.length > 0 ? named.flatMap(everywhere) : columnsFor(suite)
  const plan = await planMatrix(suite, columns, missing ? statedIn(suite) : () => false)
  const files = missing ? writeMissing(plan, await textsIn(out)) : writeMatrix(plan, '')
  return orTell(out, () => (force && !missing ? storeOver(out, files) : storeNew(out, files)))
}

function columnOf(name: string, roles: ReadonlyMap<string, unknown>): MatrixColumn {
  const parsed = parseColumn(name)
  if (parsed.kind !== 'parsed') throw new ToolError(`--role: ${parsed.message}; ${parsed.hint}`)
  const column = parsed.value
  const unknown = column.kind === 'roles' ? column.roles.find((role) => !roles.has(role)) : undefined
  if (unknown === undefined) return column
  throw new ToolError(
    `\`${unknown}\` is not a role of roles.yaml; --role takes anonymous, ` +
      `${[...roles.keys()].join(', ')}${didYouMean(unknown, roles.keys())}`,
  )
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() ?? false
}
