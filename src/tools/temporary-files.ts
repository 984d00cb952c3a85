/** Files in a folder of their own, for as long as something reads them. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** The one folder that schemas have inside. */
const COMMANDS = 'commands'

export async function withTemporaryFiles<T>(
  files: Iterable<readonly [name: string, content: Uint8Array | string]>,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const all = [...files]
  const inside = (name: string) => (dirname(name) === COMMANDS ? basename(name) : name)
  const out = all.find(([name]) => basename(name) !== inside(name))
  if (out) throw new Error(`a file would be written outside of its folder: ${out[0]}`)
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-files-'))
  try {
    if (all.some(([name]) => dirname(name) === COMMANDS)) await mkdir(join(folder, COMMANDS))
    for (const [name, content] of all) await writeFile(join(folder, name), content)
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
