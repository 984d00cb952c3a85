/** Parcels with events and a history, and clients that `sallyport client` makes of them. */
import { cpSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { EVENTS_WORLD } from '../events/events-world.ts'
import { withRules } from '../policy-text.ts'

export const FOLLOWED: Readonly<Record<string, string>> = {
  ...EVENTS_WORLD,
  'schemas/parcels.json': JSON.stringify({
    ...JSON.parse(EVENTS_WORLD['schemas/parcels.json'] ?? ''),
    'x-history': { keep: '1d' },
  }),
  'policies/policy.csv': withRules(
    EVENTS_WORLD['policies/policy.csv'] ?? '',
    'p, admin, parcels, watch|history, any, *, allow',
  ),
}

/** Makes the client, and gives the place of its file. */
export async function makeClient(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-followed-'))
  try {
    for (const part of ['policies', 'schemas']) cpSync(join(ROOT, part), join(folder, part), { recursive: true })
    for (const [file, text] of Object.entries(FOLLOWED)) await writeFile(join(folder, file), text)
    const out = join(ROOT, 'examples/typescript-client/generated', name)
    const places = ['--policies', join(folder, 'policies'), '--schemas', join(folder, 'schemas')]
    const { code, stderr } = await sallyport(['client', '--out', out, ...places])
    expect(code, stderr).to.equal(0)
    return out
  } finally {
    await removeFolder(folder)
  }
}
