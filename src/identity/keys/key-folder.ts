/**
 * The embedded keys as files of the data folder, readable by their owner alone. `signing.jwk` is the first one, made on
 * first use; `signing-2.jwk` and so on are those that took over, and the highest number signs. A new file appears
 * whole, under a name that nobody else can take, so there is always one key that signs, whenever a process ends and
 * however many rotate at once. The older ones have lost their private half, and stay until the tokens that they signed
 * have ended.
 */
import { appendFile, link, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../base/make-folder.ts'
import { canSign, type EmbeddedKey, type PublicKey, parseEmbeddedKey, unusableKey } from './embedded-key.ts'
import { removeDrafts, writeDraft } from './key-drafts.ts'
import { KeyError } from './key-error.ts'

interface KeyFile {
  readonly file: string
  /** Its place in the order in which the keys were made. */
  readonly number: number
  /** When it was made; milliseconds since the epoch. */
  readonly createdAt: number
  readonly key: PublicKey | EmbeddedKey
}

/** A key that only verifies, and until when at least: the last token that it signed has ended then. */
export interface RetiredKey extends KeyFile {
  readonly retiredAt: number
  readonly endsAt: number
}

/** Oldest first. */
export interface Keys {
  readonly retired: readonly RetiredKey[]
  readonly current: KeyFile & { readonly key: EmbeddedKey }
}

/**
 * Tokens of sign-in last ten minutes; a server may go on signing for a moment after a rotation. Longer ones are noted.
 */
export const UNNOTED_MS = 11 * 60_000

const NAME = /^signing(?:-(\d{1,9}))?\.jwk$/

/** Where the keys of a data folder are. Throws KeyError when others can replace them. */
export async function openKeyFolder(dataDirectory: string): Promise<string> {
  const folder = join(dataDirectory, 'keys')
  await makeFolder(folder).catch((error) => {
    throw new KeyError(
      `the signing key can't be kept in ${folder} (${codeOf(error)}); set DATA_DIR to a folder to write in`,
    )
  })
  if (permits((await stat(folder)).mode, 0o022)) {
    throw new KeyError(`others can replace the signing key in ${folder}; run chmod 700 on that folder`)
  }
  return folder
}

/**
 * As openKeyFolder, for commands beside a server: in another folder than the server's they would seem to work. Throws
 * KeyError.
 */
export async function findKeyFolder(dataDirectory: string): Promise<string> {
  const folder = join(dataDirectory, 'keys')
  const names = await readdir(folder).catch(() => [])
  if (names.some((name) => NAME.test(name))) return openKeyFolder(dataDirectory)
  throw new KeyError(
    `there is no signing key in \`${folder}\`; start the server once, or set DATA_DIR to its data folder`,
  )
}

/** The key of a data folder that signs. Two processes that start at once end with one key. Throws KeyError. */
export async function openEmbeddedKey(dataDirectory: string): Promise<EmbeddedKey> {
  const folder = await openKeyFolder(dataDirectory)
  await makeFirstKey(folder)
  return (await readKeys(folder)).current.key
}

export async function makeFirstKey(folder: string): Promise<void> {
  if (!(await readdir(folder)).some((name) => NAME.test(name))) await makeKey(folder, 1)
}

/** Throws KeyError if there is no key, a file is broken, or others can read it. */
export async function readKeys(folder: string): Promise<Keys> {
  return inOrder(folder, await readFiles(folder))
}

/** Makes the key that takes over from number `after`; false when another process was first. */
export async function succeed(folder: string, after: number): Promise<boolean> {
  return makeKey(folder, after + 1)
}

/**
 * Takes the private halves of the older keys away, and those files whose tokens have all ended by `now`, in
 * milliseconds.
 */
export async function tidy(folder: string, now: number): Promise<readonly RetiredKey[]> {
  await removeDrafts(folder, now)
  const { retired } = await readKeys(folder)
  for (const { file, key, createdAt, endsAt } of retired) {
    if (endsAt <= now) await remove(folder, file, key.kid)
    else if (canSign(key)) await replace(folder, file, textOf(key.jwk, createdAt))
  }
  return retired.filter(({ endsAt }) => endsAt > now)
}

/** So that no token of the older keys is accepted any more, whatever they signed. */
export async function removeRetired(folder: string): Promise<readonly RetiredKey[]> {
  const { retired } = await readKeys(folder)
  for (const { file, key } of retired) await remove(folder, file, key.kid)
  return retired
}

/** Before a token that lasts longer than those of sign-in is given away: its key must outlast it. */
export async function noteTokenEnd(folder: string, kid: string, endsAt: number): Promise<void> {
  if (endsAt > (await lastNotedEnd(folder, kid)))
    await appendFile(endsFile(folder, kid), `${endsAt}\n`, { mode: 0o600 })
}

async function readFiles(folder: string): Promise<readonly KeyFile[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name))
  const files = await Promise.all(names.map((name) => readKey(join(folder, name), Number(NAME.exec(name)?.[1] ?? 1))))
  return files.filter((file) => file !== undefined).toSorted((a, b) => a.number - b.number)
}

/**
 * Undefined for a file that another process has just taken away. Looks at the file that it reads: between two calls by
 * name it could become another.
 */
async function readKey(file: string, number: number): Promise<KeyFile | undefined> {
  await using handle = await open(file).catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (!handle) return undefined
  const found = await handle.stat()
  if (!found.isFile()) throw unusableKey(file)
  if (permits(found.mode, 0o077)) {
    throw new KeyError(`others can read the signing key ${file}; run chmod 600 on it, or delete it to get a new one`)
  }
  const text = await handle.readFile('utf8')
  const key = await parseEmbeddedKey(file, text)
  return { file, number, key, createdAt: Date.parse(JSON.parse(text).created) || found.birthtimeMs }
}

async function inOrder(folder: string, files: readonly KeyFile[]): Promise<Keys> {
  const current = files.at(-1)
  if (!current) throw new KeyError(`the signing keys in ${folder} were taken away; start again to get a new one`)
  if (!isSigner(current)) throw unusableKey(current.file)
  const older = files.slice(0, -1)
  const retired = older.map(async (file, i): Promise<RetiredKey> => {
    const retiredAt = files[i + 1]?.createdAt ?? current.createdAt
    const noted = await lastNotedEnd(folder, file.key.kid)
    return { ...file, retiredAt, endsAt: Math.max(retiredAt + UNNOTED_MS, noted) }
  })
  return { retired: await Promise.all(retired), current }
}

function isSigner(file: KeyFile): file is Keys['current'] {
  return canSign(file.key)
}

/** A hard link appears whole or not at all, and only where nothing was: whoever comes second uses the first one's. */
async function makeKey(folder: string, number: number): Promise<boolean> {
  // Keys are made once in a long time.
  const [{ generateKeyPair }, { exportJWK }] = await Promise.all([
    import('jose/key/generate/keypair'),
    import('jose/key/export'),
  ])
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const draft = await writeDraft(folder, textOf(await exportJWK(privateKey), Date.now()))
  try {
    await link(draft, join(folder, number === 1 ? 'signing.jwk' : `signing-${number}.jwk`))
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

async function replace(folder: string, file: string, text: string): Promise<void> {
  await rename(await writeDraft(folder, text), file)
}

async function remove(folder: string, file: string, kid: string): Promise<void> {
  await rm(file, { force: true })
  await rm(endsFile(folder, kid), { force: true })
}

function textOf(jwk: object, createdAt: number): string {
  return JSON.stringify({ ...jwk, created: new Date(createdAt).toISOString() })
}

/** A line for each, so that none is lost when several commands add one at once. */
async function lastNotedEnd(folder: string, kid: string): Promise<number> {
  const text = await readFile(endsFile(folder, kid), 'utf8').catch((error) => {
    if (codeOf(error) === 'ENOENT') return ''
    throw error
  })
  return Math.max(0, ...text.split('\n').map(Number).filter(Number.isFinite))
}

function endsFile(folder: string, kid: string): string {
  return join(folder, `${kid}.ends`)
}

/** On Windows the bits say nothing: access lists decide there. */
function permits(mode: number, bits: number): boolean {
  return process.platform !== 'win32' && (mode & bits) !== 0
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
