/** The folders of the policy and of the schemas: they must be there, and their files must be right. */

import { existsSync, readdirSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { FileError } from '../../base/diagnostic.ts'
import { fixOfPath } from '../../base/files/fix-path.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { AGAIN, shellWord, withFix } from '../../base/problems/fix.ts'
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import { POLICY_FILES } from '../../policy/policy-files.ts'
import { withoutSecrets } from '../../present/without-secrets.ts'
import type { Config } from '../config.ts'
import { ConfigError } from '../values.ts'

export type ServedFolders = Pick<Config, 'policies' | 'schemas'>

/** Entries that stand for the files while a command exchanges them. */
const LINKS = ['.before', '.current', '..data']

const KINDS = {
  schemas: { setting: 'SCHEMAS', files: 'schema files', has: (names) => names.some((name) => name.endsWith('.json')) },
  policies: {
    setting: 'POLICIES',
    files: 'policy files',
    has: (names) => names.some((name) => [...POLICY_FILES, ...LINKS].includes(name)),
  },
} as const satisfies Readonly<Record<keyof ServedFolders, FolderKind>>

interface FolderKind {
  readonly setting: string
  readonly files: string
  readonly has: (names: readonly string[]) => boolean
}

/** Throws ConfigError for a folder that is missing, can't be read, or has none of its files. */
export async function refuseMissingFolders(folders: ServedFolders): Promise<void> {
  for (const kind of ['schemas', 'policies'] as const) {
    if (folders[kind] === DATABASE_POLICIES) continue
    const fault = await faultOfFolder(kind, folders)
    if (fault) throw fault
  }
}

async function faultOfFolder(kind: keyof ServedFolders, folders: ServedFolders): Promise<ConfigError | undefined> {
  const folder = folders[kind]
  const { setting, files, has } = KINDS[kind]
  const named = `${setting} is \`${withoutSecrets(folder)}\``
  const unfit = (why: string) =>
    new ConfigError(`${named}, but ${why}, or make a project with \`sallyport init\``, fixOfMissing(folders))
  try {
    if (has(await readdir(folder))) return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return unfit('there is no such folder; name one')
    return new ConfigError(`${named}, which can't be read (${systemReason(code)})`, fixOfPath(folder, code))
  }
  return unfit(`that folder has no ${files}; name another one`)
}

/** The folders of a project that is here, or a new project. */
function fixOfMissing(folders: ServedFolders): string {
  const present = presentProject(folders)
  if (present !== undefined) return present
  const names = (['schemas', 'policies'] as const).map((kind) => ({ kind, isHere: isFit(kind, folders[kind]) }))
  const lost = names.filter(({ isHere }) => !isHere)
  if (lost.length === 1 && lost[0]) return `git checkout HEAD -- ${shellWord(folders[lost[0].kind])}`
  const isEmpty = !existsSync('package.json') && !existsSync('schemas') && !existsSync('policies')
  if (isEmpty && /^[a-z0-9][a-z0-9._-]*$/.test(basename(process.cwd()))) return `sallyport init . --yes && ${AGAIN}`
  return `sallyport init my-api --yes && ${withFolders('my-api')}`
}

function presentProject({ policies, schemas }: ServedFolders): string | undefined {
  const usual = { policies: 'policies', schemas: 'schemas' }
  const here = readdirSync('.', { withFileTypes: true }).filter((one) => one.isDirectory() && !one.name.startsWith('.'))
  const places = ['.', ...here.map(({ name }) => name).filter((name) => name !== 'node_modules')]
  const found = places.find((place) => {
    return isFit('policies', join(place, usual.policies)) && isFit('schemas', join(place, usual.schemas))
  })
  if (found === undefined || (policies === usual.policies && schemas === usual.schemas && found === '.'))
    return undefined
  return withFolders(found)
}

function withFolders(place: string): string {
  const [policies, schemas] = ['policies', 'schemas'].map((name) => shellWord(join(place, name)))
  return `POLICIES=${policies} SCHEMAS=${schemas} ${AGAIN}`
}

function isFit(kind: keyof ServedFolders, folder: string): boolean {
  if (folder === DATABASE_POLICIES) return true
  return Boolean(statSync(folder, { throwIfNoEntry: false })?.isDirectory()) && KINDS[kind].has(readdirSync(folder))
}

/** Names the command that shows faulty schema files, in the errors of `read`. */
export async function readingSchemas<T>(
  { schemas }: Pick<ServedFolders, 'schemas'>,
  read: () => Promise<T>,
): Promise<T> {
  return named(`sallyport schema check ${shellWord(schemas)}`, read)
}

/** Names the command that shows faulty policy files, in the errors of `read`. */
export async function readingPolicy<T>(folders: ServedFolders, read: () => Promise<T>): Promise<T> {
  return named(policyCheckOf(folders), read)
}

/** The command that shows faulty policy files. */
export function policyCheckOf({ policies, schemas }: ServedFolders): string {
  return `sallyport policy check ${shellWord(policies)} --schemas ${shellWord(schemas)}`
}

async function named<T>(fix: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof FileError ? withFix(error, fix) : error
  }
}
