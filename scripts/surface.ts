/**
 * node scripts/surface.ts: writes test/stability/surface.json, the list of everything that others rely on, and says what
 * changed. A test compares it with the code, so whoever changes a promise accepts it here, for review.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { collectSurface } from './surface/collect.ts'
import { compareSurfaces } from './surface/compare.ts'
import type { Surface } from './surface/members.ts'

const FILE = fileURLToPath(new URL('../test/stability/surface.json', import.meta.url))

export interface AcceptedSurface {
  /** The version of package.json when it was written. */
  readonly version: string
  /** Members that went since the version before. Each needs a line in CHANGELOG.md. */
  readonly gone: readonly string[]
  readonly members: Surface
}

export async function readAccepted(): Promise<AcceptedSurface> {
  return JSON.parse(await readFile(FILE, 'utf8'))
}

if (import.meta.main) {
  const before = await readAccepted().catch((): AcceptedSurface => ({ version: '', gone: [], members: {} }))
  const members = await collectSurface()
  const changes = compareSurfaces(before.members, members)
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(text)
  const went = changes.filter(({ kind }) => kind === 'gone').map(({ member }) => member)
  const kept = before.version === version ? before.gone.filter((member) => !(member in members)) : []
  const accepted: AcceptedSurface = { version, gone: [...new Set([...kept, ...went])].toSorted(), members }
  await writeFile(FILE, `${JSON.stringify(accepted, null, 1)}\n`)
  for (const { member, kind, step } of changes.slice(0, 50)) process.stdout.write(`${step}: ${kind}: ${member}\n`)
  process.stdout.write(`${changes.length} members changed, ${Object.keys(members).length} are accepted\n`)
}
