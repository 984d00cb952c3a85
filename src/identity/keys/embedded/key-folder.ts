/**
 * The embedded keys as files of the data folder, readable only by their owner. `signing.jwk` is the first key, created
 * on first use; `signing-2.jwk` and so on are its successors, and the highest number signs. A new file appears
 * complete, under a name that nobody else can take, so there is always one key that signs, even if a process ends at
 * any moment or several rotate at once. The older keys have lost their private half, and stay until the tokens that
 * they signed have ended.
 */
import { appendFile, link, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fixOfPath } from '../../../base/files/fix-path.ts'
import { makeFolder } from '../../../base/files/make-folder.ts'
import { shellWord } from '../../../base/problems/fix.ts'
import { KeyError } from '../key-error.ts'
import { canSign, type EmbeddedKey, generateKey, parseEmbeddedKey, unusableKey } from './embedded-key.ts'
import { removeDrafts, writeDraft } from './key-drafts.ts'
import { inOrder, type NotedKey, type RetiredKey, type RingKeys } from './key-place.ts'

const NAME = /^signing(?:-(\d{1,9}))?\.jwk$/

/** Returns the key folder of a data folder. Throws KeyError if others can replace the keys. */
export async function openKeyFolder(dataDirectory: string): Promise<string> {
  const folder = join(dataDirectory, 'keys')
  await makeFolder(folder).catch((error) => {
    throw unusableFolder(folder, error)
  })
  await refuseOthers(folder)
  return folder
}

async function refuseOthers(folder: string): Promise<void> {
  if (permits((await stat(folder)).mode, 0o022)) {
    throw new KeyError(`others can replace the signing key in ${folder}`, `chmod 700 ${shellWord(folder)}`)
  }
}

function unusableFolder(folder: string, error: unknown): KeyError {
  const code = codeOf(error)
  return new KeyError(
    `the signing key can't be stored in ${folder} (${code}); set DATA_DIR to a writable folder`,
    fixOfPath(folder, code),
  )
}

/**
 * Like openKeyFolder, but doesn't create the folder, for commands beside a server: with a wrong data folder they would
 * only seem to work. Throws KeyError.
 */
export async function findKeyFolder(dataDirectory: string): Promise<string> {
  const folder = join(dataDirectory, 'keys')
  const names = await readdir(folder).catch(() => [])
  if (names.some((name) => NAME.test(name))) return openKeyFolder(dataDirectory)
  throw new KeyError(
    `there is no signing key in \`${folder}\`; start the server once, or set DATA_DIR to its data folder`,
    'sallyport serve',
  )
}

/** The keys, without making any; undefined before the first one was made. Throws KeyError. */
export async function inspectKeyFolder(dataDirectory: string): Promise<RingKeys | undefined> {
  const folder = join(dataDirectory, 'keys')
  const names = await readdir(folder).catch((error) => {
    if (codeOf(error) === 'ENOENT') return []
    throw unusableFolder(folder, error)
  })
  if (!names.some((name) => NAME.test(name))) return undefined
  await refuseOthers(folder)
  return readKeys(folder)
}

/** The file of the key that signs now. Without any key: the file that the first one will have. */
export async function signingKeyFile(dataDirectory: string): Promise<string> {
  const folder = join(dataDirectory, 'keys')
  const names = await readdir(folder).catch(() => [])
  const highest = Math.max(1, ...names.filter((name) => NAME.test(name)).map(numberOf))
  return join(folder, fileName(highest))
}

/** Returns the signing key of a data folder. Two processes that start at once get the same key. Throws KeyError. */
export async function openEmbeddedKey(dataDirectory: string): Promise<EmbeddedKey> {
  const folder = await openKeyFolder(dataDirectory)
  await makeFirstKey(folder)
  return (await readKeys(folder)).current.key
}

export async function makeFirstKey(folder: string): Promise<void> {
  if (!(await readdir(folder)).some((name) => NAME.test(name))) await makeKey(folder, 1)
}

/** Throws KeyError if there is no key, a file is broken, or others can read it. */
export async function readKeys(folder: string): Promise<RingKeys> {
  const files = await readFiles(folder)
  const last = files.at(-1)
  if (!last) throw new KeyError(`the signing keys in ${folder} were deleted; start the server again to get a new one`)
  const keys = inOrder(files)
  if (!keys) throw unusableKey(fileOf(folder, last))
  return keys
}

/** Makes the successor of key number `after`; false if another process was first. */
export async function succeed(folder: string, after: number): Promise<boolean> {
  return makeKey(folder, after + 1)
}

/**
 * Removes the private halves of the older keys, and the files whose tokens have all ended by `now`, in milliseconds.
 */
export async function tidy(folder: string, now: number): Promise<readonly RetiredKey[]> {
  await removeDrafts(folder, now)
  const { retired } = await readKeys(folder)
  for (const one of retired) {
    const { key, createdAt, endsAt } = one
    if (endsAt <= now) await remove(folder, one)
    else if (canSign(key)) await replace(folder, fileOf(folder, one), textOf(key.jwk, createdAt))
  }
  return retired.filter(({ endsAt }) => endsAt > now)
}

/** Removes the older keys, so that none of their tokens is accepted any more. */
export async function removeRetired(folder: string): Promise<readonly RetiredKey[]> {
  const { retired } = await readKeys(folder)
  for (const one of retired) await remove(folder, one)
  return retired
}

/** Must be called before a token that lasts longer than those of sign-in is handed out: its key must outlast it. */
export async function noteTokenEnd(folder: string, kid: string, endsAt: number): Promise<void> {
  if (endsAt > (await lastNotedEnd(folder, kid)))
    await appendFile(endsFile(folder, kid), `${endsAt}\n`, { mode: 0o600 })
}

async function readFiles(folder: string): Promise<readonly NotedKey[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name))
  const files = await Promise.all(names.map((name) => readKey(folder, name)))
  return files.filter((file) => file !== undefined).toSorted((a, b) => a.number - b.number)
}

/**
 * Undefined for a file that another process has just removed. Checks and reads one open file: between two calls by
 * name, it could be replaced.
 */
async function readKey(folder: string, name: string): Promise<NotedKey | undefined> {
  const file = join(folder, name)
  await using handle = await open(file).catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new KeyError(`the signing key ${file} can't be read (${codeOf(error)})`, fixOfPath(file, codeOf(error)))
  })
  if (!handle) return undefined
  const found = await handle.stat()
  if (!found.isFile()) throw unusableKey(file)
  if (permits(found.mode, 0o077)) {
    throw new KeyError(
      `others can read the signing key ${file}; close it, or delete it to get a new one`,
      `chmod 600 ${shellWord(file)}`,
    )
  }
  const text = await handle.readFile('utf8')
  const key = await parseEmbeddedKey(file, text)
  const createdAt = Date.parse(JSON.parse(text).created) || found.birthtimeMs
  return { number: numberOf(name), key, createdAt, notedEnd: await lastNotedEnd(folder, key.kid) }
}

/**
 * A hard link appears completely or not at all, and never replaces a file: a process that comes second uses the first
 * one's key.
 */
async function makeKey(folder: string, number: number): Promise<boolean> {
  const draft = await writeDraft(folder, textOf(await generateKey(), Date.now()))
  try {
    await link(draft, join(folder, fileName(number)))
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

async function remove(folder: string, retired: RetiredKey): Promise<void> {
  await rm(fileOf(folder, retired), { force: true })
  await rm(endsFile(folder, retired.key.kid), { force: true })
}

function textOf(jwk: object, createdAt: number): string {
  return JSON.stringify({ ...jwk, created: new Date(createdAt).toISOString() })
}

function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 1)
}

function fileOf(folder: string, { number }: { readonly number: number }): string {
  return join(folder, fileName(number))
}

function fileName(number: number): string {
  return number === 1 ? 'signing.jwk' : `signing-${number}.jwk`
}

/** The file has one line for each end, so that none is lost if several commands add one at once. */
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

/** On Windows the mode bits mean nothing, because access lists decide there. */
function permits(mode: number, bits: number): boolean {
  return process.platform !== 'win32' && (mode & bits) !== 0
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
