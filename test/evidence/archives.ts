/** Archives of evidence, taken apart and made anew with all their checksums. */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { readArchive } from '../../src/tools/backup/archive/read-archive.ts'
import { bytesPart, writeArchive } from '../../src/tools/backup/archive/write-archive.ts'
import { EVIDENCE, type EvidenceManifest } from '../../src/tools/evidence/evidence-archive.ts'

type Parts = ReadonlyMap<string, Buffer>

export async function unpacked(file: string): Promise<{ manifest: EvidenceManifest; parts: Map<string, Buffer> }> {
  const parts = new Map<string, Buffer>()
  const manifest = await readArchive({ file, identity: undefined }, EVIDENCE, async (name, content) => {
    parts.set(name, Buffer.concat(await Array.fromAsync(content)))
  })
  return { manifest, parts }
}

/** A new file in a folder of its own. */
export async function packed(parts: Parts, manifest: EvidenceManifest, folder: string): Promise<string> {
  const { format, program, createdAt } = manifest
  const out = join(await mkdtemp(join(folder, 'packed-')), 'evidence')
  const content = {
    kind: EVIDENCE,
    beginning: { format, program, createdAt },
    parts: [...parts].map(([name, bytes]) => bytesPart(name, bytes)),
    manifest: (sums: EvidenceManifest['parts']) => ({ ...manifest, parts: sums }),
  }
  await writeArchive(out, content, [])
  return out
}

interface Member {
  readonly name: string
  /** In bytes, with its header; the next one begins at `end`. */
  readonly begin: number
  readonly end: number
}

/** The members of a tar file, and what is behind the last one. */
export function membersOf(tar: Buffer): readonly Member[] {
  const members: Member[] = []
  for (let begin = 0; begin < tar.length; ) {
    const name = tar.toString('latin1', begin, tar.indexOf(0, begin))
    const size = Number.parseInt(tar.toString('latin1', begin + 124, begin + 135), 8)
    const end = name === '' ? tar.length : begin + 512 + Math.ceil(size / 512) * 512
    members.push({ name, begin, end })
    begin = end
  }
  return members
}
