/** Files in a folder of their own, for as long as something reads them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

export async function withTemporaryFiles<T>(
  files: Iterable<readonly [name: string, content: Uint8Array | string]>,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const all = [...files]
  const out = all.find(([name]) => basename(name) !== name)
  if (out) throw new Error(`a file would be written outside of its folder: ${out[0]}`)
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-files-'))
  try {
    for (const [name, content] of all) await writeFile(join(folder, name), content)
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
