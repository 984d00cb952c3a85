/** Whether the store changes its layout at the first start of the new version, and whether there is a way back. */
import { storedLayout } from '../../../store/open.ts'
import { LAYOUTS } from '../../../store/sql/tables.ts'
import type { DataChange, Undecided } from './report.ts'
import type { UpgradeSides } from './sides.ts'
import { compareVersions, parseVersion } from './version-step.ts'

interface ComparedData {
  readonly data: readonly DataChange[]
  readonly undecided: readonly Undecided[]
}

export async function compareData({ old, new: young, project }: UpgradeSides): Promise<ComparedData> {
  const { engine, location } = project.database
  const own = LAYOUTS.at(-1)?.layouts ?? {}
  const [before, layout] = [old.version === young.version ? own : layoutsOf(old.version), own[engine]]
  if (!before || layout === undefined) return undecided(`the layouts of version ${old.version} are not known here`)
  const told = await storedLayout(project.database).catch((error: Error) => error)
  if (told instanceof Error) return undecided(`the layout of ${location} can't be read: ${told.message}`)
  const [was, stored] = [before[engine], told]
  const change: DataChange = {
    engine,
    old: was ?? null,
    new: layout,
    canGoBack: was !== undefined && was >= layout,
    ...(stored === undefined ? {} : { file: { path: location, layout: stored } }),
  }
  if (stored === undefined || stored <= layout) return { data: [change], undecided: [] }
  return undecided(`${location} has layout ${stored}, and ${young.version} knows layouts up to ${layout}`, [change])
}

function undecided(reason: string, data: readonly DataChange[] = []): ComparedData {
  return { data, undecided: [{ part: 'data', reason }] }
}

/** Those of the last entry that isn't later. */
function layoutsOf(version: string): Readonly<Record<string, number>> | undefined {
  const asked = parseVersion(version)
  return LAYOUTS.findLast((entry) => {
    const first = parseVersion(entry.version)
    return asked && first && compareVersions(first, asked) <= 0
  })?.layouts
}
