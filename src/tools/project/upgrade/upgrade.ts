/**
 * What a newer version changes for a project: the version that runs is compared with the one that is installed there.
 * Nothing is written to the project.
 */
import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { ToolError } from '../../load-policy.ts'
import { packagePath } from '../package-files.ts'
import { compareAccess, compareFindings } from './programs.ts'
import type { ProgramPackage, UpgradeReport, UpgradeSides } from './report.ts'
import { compareData, PROMISES, parseVersion, readChangelog, stepBetween } from './versions.ts'

export interface UpgradeWishes extends Pick<UpgradeSides, 'project' | 'bounds'> {
  readonly from: string | undefined
  readonly now: Date
}

/** Throws ToolError where there is no project, or no earlier package. */
export async function checkUpgrade({ project, from, now, bounds }: UpgradeWishes): Promise<UpgradeReport> {
  for (const folder of [project.schemas, project.policies]) {
    if ((await stat(folder).catch(() => undefined))?.isDirectory()) continue
    throw new ToolError(
      `${folder} is not a directory: name the folder of a project, with \`schemas/\` and \`policies/\``,
    )
  }
  const root = packagePath('.')
  const [old, young] = [await oldPackage(project.folder, from), { root, version: (await versionOf(root)) ?? '' }]
  const sides: UpgradeSides = { project, old, new: young, at: now.toISOString(), bounds }
  const [found, decided, changelog, data] = await Promise.all([
    compareFindings(sides),
    compareAccess(sides),
    readChangelog(sides),
    compareData(sides),
  ])
  const step = stepOf(old, young)
  const report = {
    folder: project.folder,
    old: old.version,
    new: young.version,
    step,
    promise: PROMISES[step],
    ...found,
    ...decided,
    changelog,
    ...data,
    undecided: [found, decided, data].flatMap(({ undecided }) => undecided),
  }
  return { ...report, todo: isTodo(report) }
}

function isTodo({ findings, decisions, changelog, data, undecided }: Omit<UpgradeReport, 'todo'>): boolean {
  const parts = [findings, decisions.changes, changelog, undecided]
  const opened = decisions.routes.some(({ kind, callers }) => kind === 'gone' || callers.length > 0)
  // Where the project has no file, only the declared layouts can tell.
  const isMigrated = data.some(({ old, new: young, file }) => (file?.layout ?? old ?? young) !== young)
  return parts.some(({ length }) => length > 0) || opened || isMigrated
}

function stepOf(old: ProgramPackage, young: ProgramPackage): UpgradeReport['step'] {
  const [before, after] = [old, young].map(({ version }) => parseVersion(version))
  if (before && after) return stepBetween(before, after)
  throw new ToolError(
    `${old.root} has the version \`${old.version}\`, which is not of the form 1.2.3: install it again`,
  )
}

const INSTALLED = 'node_modules/sallyport'

/** `from`: the folder of the package, or one where it is installed. */
async function oldPackage(folder: string, from: string | undefined): Promise<ProgramPackage> {
  const places = from === undefined ? above(resolve(folder)) : [from, join(from, INSTALLED)]
  const own = await realpath(packagePath('.'))
  for (const root of places) {
    const version = await versionOf(root)
    if (version === undefined) continue
    if ((await realpath(root)) !== own) return { root, version }
    throw new ToolError(
      `${root} is the program that runs now: run the newer one, like \`npx sallyport@latest upgrade --check\`, ` +
        'or name the folder of the earlier package with --from',
    )
  }
  const [where, what] = from === undefined ? [folder, 'install it there first, or n'] : [from, 'n']
  throw new ToolError(
    `no package \`sallyport\` was found in ${where}: ${what}ame the folder of the earlier package with --from`,
  )
}

/** Where Node would look for the package. */
function above(folder: string): readonly string[] {
  const parent = dirname(folder)
  return [join(folder, INSTALLED), ...(parent === folder ? [] : above(parent))]
}

async function versionOf(root: string): Promise<string | undefined> {
  const file = join(root, 'package.json')
  if (!(await stat(file).catch(() => undefined))?.isFile()) return undefined
  try {
    const { name, version } = JSON.parse(await readFile(file, 'utf8'))
    return name === 'sallyport' && typeof version === 'string' ? version : undefined
  } catch {
    throw new ToolError(`${file} can't be read as JSON: install the package again`)
  }
}
