/** Verifies the versions of a database one by one, from the first to the last; also offline, of a copy in a file. */

import { readFile, writeFile } from 'node:fs/promises'
import { FileError } from '../../base/diagnostic.ts'
import { writingPlace } from '../../base/files/project-file.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { isObject } from '../../base/is-object.ts'
import { readApprovedText } from '../../policy/published/proposal.ts'
import { payloadOf } from '../../policy/published/signed-by-person.ts'
import { digestOfText, type PublishedVersion, type VersionHome } from '../../policy/published/signed-version.ts'
import { type KnownVersion, nextVersion, readingIn, type ValidVersion } from '../../policy/published/version-chain.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'
import { ToolError } from '../load-policy.ts'
import type { SignedVersions } from './published-versions.ts'

/** What is verified: the versions of a database, or those of a copy. */
export type VersionsToVerify = Pick<PolicyVersions, 'home' | 'all' | 'get' | 'file'>

export interface VerifiedChain {
  readonly verified: readonly PublishedVersion[]
  /** The first version that isn't valid, and why; undefined if all are. */
  readonly broken: { readonly number: number; readonly why: string } | undefined
  /** The last of `verified`. */
  readonly last: KnownVersion | undefined
}

export async function verifyHistory(
  versions: VersionsToVerify,
  verifier: Omit<SignedVersions, 'versions'>,
): Promise<VerifiedChain> {
  const home = await versions.home()
  const verified: ValidVersion[] = []
  const done = (broken: VerifiedChain['broken']) => {
    const last = verified.at(-1)
    const known = last && { number: last.number, digest: digestOfText(last.signed) }
    return { verified: verified.map(({ version }) => version), broken, last: known }
  }
  for (const one of await versions.all()) {
    const number = verified.length + 1
    if (one.number !== number) return done({ number, why: `version ${number} is missing` })
    try {
      const version = await nextVersion(one, verified.at(-1), home, { ...verifier, versions })
      await readingIn(version, versions)
      verified.push({ ...one, version })
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      return done({ number, why: error.diagnostics[0]?.message ?? 'it is not valid' })
    }
  }
  return done(undefined)
}

// ---- A copy in a file -----------------------------------------------------------------------------------------------

interface HistoryCopy {
  readonly format: typeof COPY_FORMAT
  readonly database: VersionHome
  readonly versions: readonly { readonly number: number; readonly signed: string }[]
  /** By digest. */
  readonly files: Readonly<Record<string, string>>
}

const COPY_FORMAT = 'sallyport-policy-history-1'

/** The number of versions. Throws ToolError if the file exists, or can't be written. */
export async function copyHistory(versions: VersionsToVerify, file: string): Promise<number> {
  const all = await versions.all()
  const files: Record<string, string> = {}
  for (const digest of new Set(all.flatMap(({ signed }) => digestsIn(signed)))) {
    const text = await versions.file(digest)
    if (text !== undefined) files[digest] = text
  }
  const copy: HistoryCopy = { format: COPY_FORMAT, database: await versions.home(), versions: all, files }
  const place = await writingPlace(file)
  await writeFile(place, `${JSON.stringify(copy)}\n`, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'it exists already' : systemReason(error.code)
    throw new ToolError(`${file} can't be written (${why}): name a new file in a folder that exists`)
  })
  return all.length
}

/** Throws ToolError for a file that is no copy. */
export async function readHistoryCopy(file: string): Promise<VersionsToVerify> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ToolError(`${file} can't be read (${systemReason(error.code)}): name a file of \`policy history --copy\``)
  })
  const copy = copyIn(text)
  if (!copy)
    throw new ToolError(`${file} is no copy of a history: make one with \`sallyport policy history --copy FILE\``)
  const files = new Map(Object.entries(copy.files))
  return {
    home: async () => copy.database,
    all: async () => copy.versions,
    get: async (number) => copy.versions.find((one) => one.number === number)?.signed,
    file: async (digest) => files.get(digest),
  }
}

function copyIn(text: string): HistoryCopy | undefined {
  const copy = parsed(text)
  if (!isObject(copy) || copy.format !== COPY_FORMAT || !isObject(copy.database) || !isObject(copy.files))
    return undefined
  const { database, versions, files } = copy
  if (typeof database.id !== 'string' || !Array.isArray(database.former) || !Array.isArray(versions)) return undefined
  const isVersion = (one: unknown) =>
    isObject(one) && Number.isSafeInteger(one.number) && typeof one.signed === 'string'
  const isWhole = versions.every(isVersion) && Object.values(files).every((one) => typeof one === 'string')
  return isWhole ? (copy as unknown as HistoryCopy) : undefined
}

/** Of the files that a version names; none for a text that isn't one. */
function digestsIn(signed: string): readonly string[] {
  const said = payloadOf(readApprovedText(signed)?.proposal ?? signed)
  return isObject(said) && isObject(said.files) ? Object.values(said.files).map(String) : []
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
