/** Replaces several files of a folder: all of them, or none. */
import { readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../../base/files/durable-file.ts'
import { makeFolder } from '../../../base/files/make-folder.ts'
import { type NewFile, whole } from '../../../base/files/new-files.ts'
import { writingPlace } from '../../../base/files/project-file.ts'

/**
 * `complete` may add more before the files count. If something fails, or a signal comes, each file is again as it was.
 * Files that don't exist yet are made.
 */
export async function replaceAll<T = void>(
  folder: string,
  files: readonly NewFile[],
  complete?: () => Promise<T>,
): Promise<T> {
  return whole(async (goOn) => {
    const undo: (() => Promise<unknown>)[] = []
    try {
      for (const { name, text } of files) {
        await goOn()
        const named = join(folder, name)
        const path = await writingPlace(named)
        const first = await makeFolder(dirname(named), 0o777)
        if (first !== undefined) undo.unshift(() => rm(first, { recursive: true, force: true }))
        const former = await formerFile(path)
        await replaceFile(path, text, former?.mode)
        undo.unshift(() => (former ? replaceFile(path, former.bytes, former.mode) : rm(path, { force: true })))
      }
      await goOn()
      return (await complete?.()) as T
    } catch (error) {
      for (const step of undo) await step()
      throw error
    }
  })
}

interface FormerFile {
  readonly bytes: Uint8Array
  readonly mode: number
}

async function formerFile(path: string): Promise<FormerFile | undefined> {
  try {
    return { bytes: await readFile(path), mode: (await stat(path)).mode & 0o777 }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
