/**
 * Reads an archive as a stream, from whoever it may come: only known names, only plain files, each once, and small parts
 * of a bounded size. Nothing is written here.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createTarDecoder, type ParsedTarEntry } from 'modern-tar'
import { shapeSentence } from '../../../base/problems/shape-faults.ts'
import { ToolError } from '../../load-policy.ts'
import { type AnyManifest, type ArchiveKind, type Beginning, MANIFEST, type PartSum } from './archive-kind.ts'
import { decrypted, ENCRYPTED } from './encryption.ts'
import { unsealed } from './seal.ts'

const CHUNK_BYTES = 1024 * 1024
/** Of every part but the large ones. A manifest of a terabyte has 40 MB. */
const SMALL_BYTES = 64 * 1024 * 1024
const MOST_PARTS = 300_000

/** The archive can't be used. `faults`: sentences for people. */
export class DamagedArchive extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('; '))
    this.name = 'DamagedArchive'
    this.faults = faults
  }
}

export interface ArchiveFile {
  readonly file: string
  /** The key file of an encrypted archive. */
  readonly identity: string | undefined
}

/** Gets each part but the beginning and the manifest. It need not read the content to its end. */
export type TakePart = (name: string, content: AsyncIterable<Uint8Array>) => Promise<void>

/**
 * The manifest of a whole archive. Throws DamagedArchive, after `take` got the parts before the damage; ToolError for an
 * archive of a later format, or a key that doesn't open it; and what `take` throws.
 */
export async function readArchive<M extends AnyManifest>(
  archive: ArchiveFile,
  kind: ArchiveKind<M>,
  take: TakePart = async () => {},
): Promise<M> {
  const reading = new ArchiveReading(kind, take)
  let seal: 'whole' | 'cut' | 'changed' = 'cut'
  try {
    const report = (state: typeof seal) => {
      seal = state
    }
    const bytes = unsealed(await plainBytes(archive, kind.beginning), { command: kind.command, report })
    const stream = Readable.toWeb(Readable.from(bytes, { objectMode: false })) as unknown as ReadableStream<Uint8Array>
    for await (const entry of stream.pipeThrough(createTarDecoder({ strict: true }))) await reading.take(entry)
  } catch (error) {
    if (isNoDamage(error)) throw error
    throw new DamagedArchive([...reading.faults, `it can't be read to its end (${(error as Error).message})`])
  }
  const faults = [...reading.faults, ...faultsOfSums(reading.sums, reading.manifest, kind), ...faultsOfSeal(seal)]
  if (faults.length > 0 || !reading.manifest) throw new DamagedArchive(faults)
  return reading.manifest
}

async function plainBytes({ file, identity }: ArchiveFile, first: string): Promise<AsyncIterable<Uint8Array>> {
  const beginning = await beginningOf(file, first)
  if (beginning === 'other') throw new DamagedArchive(['it is no archive, or its first bytes were changed'])
  const bytes = bytesOf(file)
  if (beginning === 'encrypted') {
    if (identity !== undefined) return decrypted(bytes, identity)
    throw new ToolError(`the archive \`${file}\` is encrypted; name its key file with --identity`)
  }
  if (identity === undefined) return bytes
  throw new ToolError(
    `the archive \`${file}\` is not encrypted; leave out --identity, if you trust where it comes from`,
  )
}

/** Opened when somebody reads: a refusal before that leaves no file open. */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(file, { highWaterMark: CHUNK_BYTES })
}

async function beginningOf(file: string, first: string): Promise<'encrypted' | 'plain' | 'other'> {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(ENCRYPTED.length), { position: 0 })
  const text = buffer.toString('latin1', 0, bytesRead)
  if (text === ENCRYPTED) return 'encrypted'
  return text.startsWith(`${first}\0`) ? 'plain' : 'other'
}

/** Errors that others throw while an archive is read: of the file system, and what `take` refuses. */
function isNoDamage(error: unknown): boolean {
  const { name, syscall } = error as NodeJS.ErrnoException
  return syscall !== undefined || !['Error', 'TypeError', 'RangeError', 'SyntaxError'].includes(name)
}

class ArchiveReading<M extends AnyManifest> {
  readonly #kind: ArchiveKind<M>
  readonly sums: PartSum[] = []
  readonly faults: string[] = []
  readonly #take: TakePart
  readonly #names = new Set<string>()
  manifest: M | undefined

  constructor(kind: ArchiveKind<M>, take: TakePart) {
    this.#kind = kind
    this.#take = take
  }

  async take({ header: { name, type, size }, body }: ParsedTarEntry): Promise<void> {
    if (this.manifest) throw new Error('there is something behind the manifest')
    if (type !== 'file') throw new Error('an entry is no plain file')
    if (this.#names.has(name)) throw new Error(`the part \`${name}\` is there twice`)
    if (this.#names.size === MOST_PARTS) throw new Error(`there are more than ${MOST_PARTS} parts`)
    if (!this.#kind.isLarge(name) && size > SMALL_BYTES) throw new Error(`the part \`${name}\` is too large`)
    this.#names.add(name)
    if (this.#names.size === 1) refuseOtherKind(name, this.#kind)
    const content = this.#summed(name, size, body as unknown as AsyncIterable<Uint8Array>)
    if (name === this.#kind.beginning) refuseLaterFormat(JSON.parse(await textOf(content)), this.#kind)
    else if (name === MANIFEST) this.manifest = parseManifest(await textOf(content), this.#kind)
    else if (this.#kind.isPart(name)) await this.#pass(name, content)
    else throw new Error(`no archive has a part \`${name}\``)
  }

  async #pass(name: string, content: AsyncGenerator<Uint8Array>): Promise<void> {
    const taken = new RestOfContent(content)
    await this.#take(name, taken)
    await taken.drain()
  }

  async *#summed(name: string, bytes: number, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256')
    for await (const chunk of body) {
      hash.update(chunk)
      yield chunk
    }
    if (name !== MANIFEST) this.sums.push({ name, bytes, sha256: hash.digest('hex') })
  }
}

/** Content that can be read in two steps: a part that nobody reads has a checksum too. */
class RestOfContent implements AsyncIterable<Uint8Array> {
  readonly #content: AsyncGenerator<Uint8Array>

  constructor(content: AsyncGenerator<Uint8Array>) {
    this.#content = content
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    // Without `return`, a reader that stops early doesn't end the content.
    return { next: () => this.#content.next() }
  }

  async drain(): Promise<void> {
    while (!(await this.#content.next()).done);
  }
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(content)).toString()
}

function parseManifest<M extends AnyManifest>(text: string, { isManifest }: ArchiveKind<M>): M {
  const value: unknown = JSON.parse(text)
  if (isManifest(value)) return value as M
  const [error] = isManifest.errors ?? []
  const why = error ? ` (${shapeSentence(error as Parameters<typeof shapeSentence>[0])})` : ''
  throw new Error(`the manifest has another shape at \`${error?.instancePath || '/'}\`${why}`)
}

type NamedKind = Pick<ArchiveKind<AnyManifest>, 'beginning' | 'command' | 'format'>

function refuseOtherKind(name: string, { beginning, command }: NamedKind): void {
  if (name !== beginning) throw new Error(`it is no archive of \`${command}\``)
}

function refuseLaterFormat(found: Partial<Beginning> | null, { beginning, format: known }: NamedKind): void {
  const { format, program } = found ?? {}
  if (format === undefined || !Number.isInteger(format)) throw new Error(`\`${beginning}\` names no format`)
  if (format <= known) return
  throw new ToolError(
    `the archive has format ${format}, but this version reads only ${known}: use version ${String(program)} or later`,
  )
}

function faultsOfSums<M extends AnyManifest>(
  found: readonly PartSum[],
  manifest: M | undefined,
  kind: ArchiveKind<M>,
): readonly string[] {
  if (!manifest) return ['the manifest is missing']
  const listed = new Map(manifest.parts.map((part) => [part.name, part]))
  const there = new Map(found.map((part) => [part.name, part]))
  const changed = found.filter(({ name, sha256 }) => listed.has(name) && listed.get(name)?.sha256 !== sha256)
  const unlisted = found.filter(({ name }) => !listed.has(name))
  const missing = [...listed.keys()].filter((name) => !there.has(name))
  return [
    ...changed.map(({ name }) => `the part \`${name}\` is not what was written`),
    ...unlisted.map(({ name }) => `the manifest doesn't name the part \`${name}\``),
    ...missing.map((name) => `the part \`${name}\` is missing`),
    ...kind.missing(listed.keys().toArray(), manifest),
  ]
}

function faultsOfSeal(seal: 'whole' | 'cut' | 'changed'): readonly string[] {
  if (seal === 'whole') return []
  return [seal === 'cut' ? 'its last line, the checksum, is missing' : "its checksum doesn't fit its bytes"]
}
