/** What CHANGELOG.md of the new package marks for those who upgrade: the list behind `An upgrade must know:`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChangelogEntry, Undecided } from './report.ts'
import type { ProgramPackage, UpgradeSides } from './sides.ts'
import { compareVersions, parseVersion } from './version-step.ts'

/** Stands on a line of its own; a list follows. */
const MARK = 'An upgrade must know:'
/** What is not released yet: it belongs to each package that has it. */
const UNRELEASED = 'Unreleased'

interface ReadChangelog {
  readonly changelog: readonly ChangelogEntry[]
  readonly undecided: readonly Undecided[]
}

export async function readChangelog({ old, new: young }: UpgradeSides): Promise<ReadChangelog> {
  const [before, after] = await Promise.all([old, young].map(textOf))
  const sections = sectionsOf(after ?? '')
  const between = sections.filter(({ version }) => isBetween(version, old.version, young.version))
  if (between.length === 0 && old.version !== young.version) {
    const reason = `CHANGELOG.md of ${young.version} has no section behind ${old.version}`
    return { changelog: [], undecided: [{ part: 'changelog', reason }] }
  }
  // Two builds may have one number, and an unreleased section that grows.
  const known = new Set(sectionsOf(before ?? '').flatMap(({ body }) => entriesOf(body)))
  const entries = between.flatMap(({ version, body }) => entriesOf(body).map((text) => ({ version, text })))
  return { changelog: entries.filter(({ text }) => !known.has(text)), undecided: [] }
}

async function textOf({ root }: ProgramPackage): Promise<string> {
  return readFile(join(root, 'CHANGELOG.md'), 'utf8').catch(() => '')
}

interface ChangelogSection {
  readonly version: string
  readonly body: string
}

/** `## 1.2.3`, `## [1.2.3] - 2027-01-31` or `## Unreleased`. */
function sectionsOf(text: string): readonly ChangelogSection[] {
  const [, ...sections] = text.split(/^## /m)
  return sections.map((section) => {
    const [heading = '', ...lines] = section.split('\n')
    return { version: heading.replace(/^\[?([^\s\]]*).*$/, '$1'), body: `\n${lines.join('\n')}` }
  })
}

function isBetween(heading: string, old: string, young: string): boolean {
  if (heading === UNRELEASED) return true
  const [version, from, to] = [heading, old, young].map(parseVersion)
  if (!version || !from || !to) return false
  return compareVersions(from, version) < 0 && compareVersions(version, to) <= 0
}

/** The items of each marked list, each on one line. */
function entriesOf(body: string): readonly string[] {
  const [, ...marked] = body.split(`\n${MARK}\n`)
  return marked.flatMap((after) => {
    const [list = ''] = after.trimStart().split('\n\n')
    const [, ...items] = `\n${list}`.split('\n- ')
    return items.map((item) => item.replaceAll(/\s+/g, ' ').trim())
  })
}
