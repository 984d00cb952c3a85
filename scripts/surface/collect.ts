/** Reads the surface of this checkout from what makes it: the command tree, the schemas, the OpenAPI document, types. */
import { glob, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandMembers } from './commands.ts'
import { httpMembers } from './http.ts'
import { schemaMembers } from './json-schema.ts'
import { type Members, type Surface, surfaceOf } from './members.ts'
import { packageMembers } from './packages.ts'
import { codeMembers, settingMembers } from './settings.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Files that people write, and what the program prints. The bench is a tool of the repository. */
const FILES = [
  'src/policy/schemas/*.json',
  'src/migrations/file/schemas/*.json',
  'docs/schemas/matrix-case.schema.json',
  'docs/schemas/policy-keep.schema.json',
]
const PRINTED = ['docs/schemas/*.json', 'src/tools/backup/archive/schemas/*.json']
const UNPROMISED = /\/(?:bench|matrix-case|policy-keep)\.schema\.json$/

export async function collectSurface(): Promise<Surface> {
  const parts = await Promise.all([
    commandMembers(),
    settingMembers(),
    codeMembers(),
    httpMembers(ROOT),
    packageMembers(ROOT),
    schemasIn('file', FILES),
    schemasIn('json', PRINTED, UNPROMISED),
  ])
  return surfaceOf(parts.flat())
}

async function schemasIn(kind: string, patterns: readonly string[], except = /^$/): Promise<Members> {
  const names = await Array.fromAsync(glob(patterns, { cwd: ROOT }))
  const wanted = names.filter((name) => !except.test(name))
  const members = await Promise.all(
    wanted.map(async (name) => {
      const schema = JSON.parse(await readFile(join(ROOT, name), 'utf8'))
      return schemaMembers(`${kind} ${basename(name, '.schema.json')}`, schema)
    }),
  )
  return members.flat()
}
