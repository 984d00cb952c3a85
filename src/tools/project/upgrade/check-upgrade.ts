/**
 * What a newer version changes for a project: the version that runs is compared with the one that is installed there.
 * Nothing is written to the project.
 */
import { stat } from 'node:fs/promises'
import { ToolError } from '../../load-policy.ts'
import { compareAccess } from './compare-access.ts'
import { compareData } from './compare-data.ts'
import { compareFindings } from './compare-findings.ts'
import { compareTemplates } from './compare-templates.ts'
import { findFormerForms } from './former-forms.ts'
import { oldPackage, ownPackage } from './packages.ts'
import { readChangelog } from './read-changelog.ts'
import type { UpgradeReport } from './report.ts'
import type { AnswerBounds, ProgramPackage, ProjectPlaces, UpgradeSides } from './sides.ts'
import { PROMISES, parseVersion, stepBetween } from './version-step.ts'

export interface UpgradeWishes {
  readonly project: ProjectPlaces
  readonly from: string | undefined
  readonly now: Date
  readonly bounds: AnswerBounds
}

/** Throws ToolError where there is no project, or no earlier package. */
export async function checkUpgrade({ project, from, now, bounds }: UpgradeWishes): Promise<UpgradeReport> {
  for (const folder of [project.schemas, project.policies]) await refuseNoFolder(folder)
  const [old, young] = [await oldPackage(project.folder, from), await ownPackage()]
  const sides: UpgradeSides = { project, old, new: young, at: now.toISOString(), bounds }
  const [found, former, decided, templates, changelog, data] = await Promise.all([
    compareFindings(sides),
    findFormerForms(sides),
    compareAccess(sides),
    compareTemplates(sides),
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
    findings: [...found.findings, ...former],
    moreFindings: found.moreFindings,
    decisions: decided.decisions,
    templates: templates.templates,
    changelog: changelog.changelog,
    data: data.data,
    undecided: [found, decided, templates, changelog, data].flatMap((part) => part.undecided),
  }
  return { ...report, todo: isTodo(report) }
}

async function refuseNoFolder(folder: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined))?.isDirectory()) return
  throw new ToolError(`${folder} is not a directory: name the folder of a project, with \`schemas/\` and \`policies/\``)
}

function stepOf(old: ProgramPackage, young: ProgramPackage): UpgradeReport['step'] {
  const [before, after] = [old, young].map(({ version }) => parseVersion(version))
  if (before && after) return stepBetween(before, after)
  throw new ToolError(
    `${old.root} has the version \`${old.version}\`, which is not of the form 1.2.3: install it again`,
  )
}

function isTodo(report: Omit<UpgradeReport, 'todo'>): boolean {
  const { findings, decisions, templates, changelog, data, undecided } = report
  const outdated = templates.filter(({ advice }) => advice !== 'add')
  const parts = [findings, decisions.changes, outdated, changelog, undecided]
  const opened = decisions.routes.some(({ kind, callers }) => kind === 'gone' || callers.length > 0)
  return parts.some(({ length }) => length > 0) || opened || data.some(isMigrated)
}

/** Where the project has no file, only the declared layouts can tell. */
function isMigrated({ old, new: young, file }: UpgradeReport['data'][number]): boolean {
  return (file?.layout ?? old ?? young) !== young
}
