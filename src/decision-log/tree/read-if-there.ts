/** Reads a file that may be missing. Every other failure, such as too many open files, says nothing about its content. */
import { readFile } from 'node:fs/promises'

/** Undefined if there is no such file. Throws the other errors of the file system. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
