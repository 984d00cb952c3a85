/** The files of a server that stand beside its database: the secret of signing keys, policy, schemas and migrations. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { Config } from '../../../config/config.ts'
import { keyFolderIn } from '../../../identity/keys/embedded/keys-secret.ts'
import { DATABASE_POLICIES } from '../../../identity/keys/published-settings.ts'
import { revisionOf } from '../../../policy/policy-files.ts'
import { schemaFileNames } from '../../../resources/load/load-resources.ts'
import type { CopyFacts } from '../../../store/copies.ts'
import { readPlace, ToolError } from '../../load-policy.ts'
import { type PartGroup, placeOfPart } from '../archive/manifest.ts'
import { type ArchivePart, bytesPart } from '../archive/write-archive.ts'
import { readSteadily, type SmallFile } from './steady-folder.ts'

export interface SmallParts {
  readonly parts: readonly ArchivePart[]
  /** Undefined if the database has the policy. */
  readonly revision: string | undefined
  /** Of keys of 0.1, which no start has taken into the database yet. */
  readonly keyFiles: number
}

/** Throws ToolError, FileError, and errors of the file system. */
export async function readSmallParts(config: Config, { signingKeys }: CopyFacts): Promise<SmallParts> {
  const keys = await readKeys(config, signingKeys.length === 0 ? KEYS_OF_01 : SECRET)
  const policy = config.policies === DATABASE_POLICIES ? undefined : await readPolicyFolder(config.policies)
  const schemas = await readNamed('schemas', config.schemas, schemaFileNames)
  if (schemas.length === 0)
    throw new ToolError(`there is no schema in \`${config.schemas}\`; set SCHEMAS to those of the server`)
  const migrations = existsSync(config.migrations)
    ? await readNamed('migrations', config.migrations, matching(/\.ya?ml$/))
    : []
  return {
    parts: [
      ...partsOf('keys', keys),
      ...partsOf('policies', policy?.files ?? []),
      ...partsOf('schemas', schemas),
      ...partsOf('migrations', migrations),
    ],
    revision: policy?.revision,
    keyFiles: keys.filter(({ name }) => !SECRET.test(name)).length,
  }
}

const SECRET = /^secret$/
const KEYS_OF_01 = /^(?:signing(?:-\d{1,9})?\.jwk|[A-Za-z0-9_-]{43}\.ends|secret)$/

async function readKeys({ dataDirectory, tokens }: Config, names: RegExp): Promise<readonly SmallFile[]> {
  const folder = keyFolderIn(dataDirectory)
  return tokens.keys.kind === 'embedded' && existsSync(folder) ? readSteadily(folder, matching(names)) : []
}

async function readPolicyFolder(folder: string): Promise<{ files: readonly SmallFile[]; revision: string }> {
  const reading = await readPlace(folder)
  const [files, blocked] = [reading.files(), reading.blocked()]
  const texts = [...Object.entries(files), ['blocked.txt', blocked] as const]
  return {
    files: texts.map(([name, { text }]) => ({ name, bytes: Buffer.from(text) })),
    revision: revisionOf(files, blocked),
  }
}

const matching = (names: RegExp) => async (folder: string) => (await readdir(folder)).filter((name) => names.test(name))

async function readNamed(
  group: PartGroup,
  folder: string,
  names: (folder: string) => Promise<readonly string[]>,
): Promise<readonly SmallFile[]> {
  const files = await readSteadily(folder, names)
  const odd = files.find(({ name }) => !placeOfPart(`${group}/${name}`))
  if (odd)
    throw new ToolError(`the file \`${odd.name}\` of \`${folder}\` has a name that no archive can hold; rename it`)
  return files
}

function partsOf(group: PartGroup, files: readonly SmallFile[]): readonly ArchivePart[] {
  return files.map(({ name, bytes }) => bytesPart(`${group}/${name}`, bytes))
}
