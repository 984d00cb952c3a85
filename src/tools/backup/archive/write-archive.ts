/** Writes an archive as a stream: a tar file of its parts, the manifest at its end, and the seal. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { createTarPacker, type TarPackController } from 'modern-tar'
import { type AnyManifest, type ArchiveKind, type Beginning, MANIFEST, type PartSum } from './archive-kind.ts'
import { encrypted } from './encryption.ts'
import { sealed } from './seal.ts'

/** A part as it is written. Its content is read once. */
export interface ArchivePart {
  readonly name: string
  readonly bytes: number
  readonly content: AsyncIterable<Uint8Array>
}

export interface ArchiveContent<M extends AnyManifest> {
  readonly kind: ArchiveKind<M>
  readonly beginning: Beginning
  readonly parts: readonly ArchivePart[]
  /** Asked after the parts. */
  readonly manifest: (parts: readonly PartSum[]) => M
}

/** The file must not exist; it is durable when this resolves. Without recipients, it isn't encrypted. */
export async function writeArchive<M extends AnyManifest>(
  file: string,
  content: ArchiveContent<M>,
  recipients: readonly string[],
): Promise<M> {
  const { readable, controller } = createTarPacker()
  const plain = sealed(Readable.fromWeb(readable as WebStream<Uint8Array>), content.kind.command)
  const bytes = recipients.length > 0 ? await encrypted(plain, recipients) : plain
  let isWanted = true
  const written = writeFile(file, bytes).catch((error) => {
    isWanted = false
    throw error
  })
  const packed = pack(controller, content).catch((error) => {
    // After a fault of the disk, nobody would take it from the stream.
    if (isWanted) controller.error(error)
    throw error
  })
  const [, manifest] = await Promise.all([written, packed])
  return manifest
}

/** Only its owner can read it, whatever the umask. */
async function writeFile(file: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await using handle = await open(file, 'wx', 0o600)
  await handle.chmod(0o600)
  await handle.writeFile(bytes)
  await handle.sync()
}

async function pack<M extends AnyManifest>(controller: TarPackController, content: ArchiveContent<M>): Promise<M> {
  const sums: PartSum[] = []
  const mtime = new Date(content.beginning.createdAt)
  const add = async (part: ArchivePart) => void sums.push(await addPart(controller, part, mtime))
  await add(textPart(content.kind.beginning, content.beginning))
  for (const part of content.parts) await add(part)
  const manifest = content.manifest(sums)
  await addPart(controller, textPart(MANIFEST, manifest), mtime)
  controller.finalize()
  return manifest
}

async function addPart(controller: TarPackController, part: ArchivePart, mtime: Date): Promise<PartSum> {
  const { name, bytes, content } = part
  const writer = controller.add({ name, size: bytes, type: 'file', mode: 0o600, mtime }).getWriter()
  const hash = createHash('sha256')
  for await (const chunk of content) {
    hash.update(chunk)
    await writer.write(chunk)
  }
  await writer.close()
  return { name, bytes, sha256: hash.digest('hex') }
}

/** A small part whose bytes are known. */
export function bytesPart(name: string, bytes: Uint8Array): ArchivePart {
  return { name, bytes: bytes.length, content: Readable.from([bytes]) }
}

function textPart(name: string, value: unknown): ArchivePart {
  return bytesPart(name, Buffer.from(`${JSON.stringify(value, null, 2)}\n`))
}
