/** Writes the files of a version into a new folder: all of them, or none. */
import { readdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { finish } from '../../base/files/durable-file.ts'
import type { VersionTexts } from '../../policy/published/published-source.ts'
import { ToolError } from '../load-policy.ts'
import { writeFiles } from './version.ts'

/** Throws ToolError if the folder has something in it, or can't be made. */
export async function exportVersion(directory: string, texts: VersionTexts): Promise<void> {
  const parent = dirname(resolve(directory))
  const found = await stat(parent).catch(() => undefined)
  if (!found?.isDirectory()) throw new ToolError(`${parent} is not a directory: make it first`)
  if (!(await isFree(directory))) {
    throw new ToolError(`${directory} exists and is not an empty folder: name a folder that doesn't exist`)
  }
  const content = new Map([...texts].map(([name, text]) => [name, Buffer.from(text)]))
  // A folder that somebody fills meanwhile isn't replaced: the system refuses it.
  await finish(resolve(directory), (unfinished) => writeFiles(unfinished, content)).catch((error) => {
    throw new ToolError(`${directory} can't be written (${error.code}): name another folder`)
  })
}

async function isFree(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).length === 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
