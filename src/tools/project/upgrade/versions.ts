/**
 * What the number of a version says (https://semver.org/spec/v2.0.0.html), and what a version declares of itself: the
 * entries of CHANGELOG.md for those who upgrade, and the layout of the store that it writes.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { storedLayout } from '../../../store/open.ts'
import { LAYOUTS } from '../../../store/sql/tables.ts'
import type { ProgramPackage, UpgradeReport, UpgradeSides } from './report.ts'

interface Version {
  readonly numbers: readonly [number, number, number]
  /** The identifiers of a pre-release; empty for a release. */
  readonly before: readonly string[]
}

const FORM = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]+)?$/

/** Undefined for what is no version. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch, before] = FORM.exec(text) ?? []
  if (major === undefined) return undefined
  return { numbers: [Number(major), Number(minor), Number(patch)], before: before?.split('.') ?? [] }
}

/** Below 0 if `a` is the earlier version. */
export function compareVersions(a: Version, b: Version): number {
  const at = a.numbers.findIndex((number, i) => number !== b.numbers[i])
  if (at >= 0) return (a.numbers[at] ?? 0) - (b.numbers[at] ?? 0)
  if (a.before.length === 0 || b.before.length === 0) return b.before.length - a.before.length
  for (const [i, one] of a.before.entries()) {
    const other = b.before[i]
    if (other === undefined) return 1
    if (one !== other) return compareIdentifiers(one, other)
  }
  return a.before.length - b.before.length
}

/** Section 11.4: numbers below words, numbers by size, words by ASCII. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumber && isOtherNumber) return Number(a) - Number(b)
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return a < b ? -1 : 1
}

export function stepBetween(old: Version, young: Version): UpgradeReport['step'] {
  const order = compareVersions(old, young)
  if (order === 0) return 'same'
  if (order > 0) return 'earlier'
  const at = old.numbers.findIndex((number, i) => number !== young.numbers[i])
  // A pre-release promises nothing of the release that it leads to.
  if (at <= 0) return 'major'
  if (old.numbers[0] === 0) return at === 1 ? 'major' : 'minor'
  return at === 1 ? 'minor' : 'patch'
}

/** docs/stability.md says the same at length. */
export const PROMISES: Readonly<Record<UpgradeReport['step'], string>> = {
  same: 'the version numbers are equal, so nothing should differ',
  patch: 'a patch fixes faults: what you rely on stays',
  minor: 'a minor version adds: what you rely on stays',
  major: 'a major version may change or remove what you rely on; below 1.0.0 the middle number is raised for it',
  earlier: 'the other version is newer: going back is promised only where the data allows it',
}

/** Stands on a line of its own; a list follows. */
const MARK = 'An upgrade must know:'

type Compared<Part extends keyof UpgradeReport> = Pick<UpgradeReport, Part | 'undecided'>

/** What the new version tells and the old one didn't: two builds may have one number, and an unreleased section that grows. */
export async function readChangelog({ old, new: young }: UpgradeSides): Promise<UpgradeReport['changelog']> {
  const [before, after] = await Promise.all([old, young].map(async (side) => entriesIn(await textOf(side))))
  const known = new Set(before?.map(({ text }) => text))
  return after?.filter(({ text }) => !known.has(text)) ?? []
}

async function textOf({ root }: ProgramPackage): Promise<string> {
  return readFile(join(root, 'CHANGELOG.md'), 'utf8').catch(() => '')
}

/** `## 1.2.3`, `## [1.2.3] - 2027-01-31` or `## Unreleased`, and the items of each marked list, each on one line. */
function entriesIn(changelog: string): UpgradeReport['changelog'] {
  return changelog.split(/^## /m).flatMap((section) => {
    const [heading = ''] = section.split('\n', 1)
    const version = heading.replace(/^\[?([^\s\]]*).*$/, '$1')
    const [, ...marked] = section.split(`\n${MARK}\n`)
    return marked.flatMap((after) => {
      const [list = ''] = after.trimStart().split('\n\n')
      const [, ...items] = `\n${list}`.split('\n- ')
      return items.map((item) => ({ version, text: item.replaceAll(/\s+/g, ' ').trim() }))
    })
  })
}

export async function compareData({ old, new: young, project }: UpgradeSides): Promise<Compared<'data'>> {
  const { engine, location } = project.database
  const own = LAYOUTS.at(-1)?.layouts ?? {}
  const [before, layout] = [old.version === young.version ? own : layoutsOf(old.version), own[engine]]
  if (!before || layout === undefined) return undecided(`the layouts of version ${old.version} are not known here`)
  const found = await storedLayout(project.database).catch((error: Error) => error)
  if (found instanceof Error) return undecided(`the layout of ${location} can't be read: ${found.message}`)
  const [was, stored] = [before[engine], found]
  const change: UpgradeReport['data'][number] = {
    engine,
    old: was ?? null,
    new: layout,
    canGoBack: was !== undefined && was >= layout,
    ...(stored === undefined ? {} : { file: { path: location, layout: stored } }),
  }
  if (stored === undefined || stored <= layout) return { data: [change], undecided: [] }
  return undecided(`${location} has layout ${stored}, and ${young.version} knows layouts up to ${layout}`, [change])
}

function undecided(reason: string, data: UpgradeReport['data'] = []): Compared<'data'> {
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
