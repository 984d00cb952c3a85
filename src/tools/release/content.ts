/** The versioned files of a policy directory as bytes, whether or not a server would accept them. */
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { filePath, findPolicyFolder } from '../../policy/policy-folder.ts'
import { ToolError } from '../load-policy.ts'
import { VERSIONED_FILES } from './folder/layout.ts'

/** By file name; a missing file has no entry. */
export type PolicyContent = ReadonlyMap<string, Uint8Array>

/** Reads the files that are in force, also while others are being written. */
export async function readContent(directory: string): Promise<PolicyContent> {
  const place = await findPolicyFolder(directory, VERSIONED_FILES)
  const files = await Promise.all(
    VERSIONED_FILES.map(async (name) => [name, await readIfThere(filePath(place, name))] as const),
  )
  return new Map(files.flatMap(([name, bytes]) => (bytes === undefined ? [] : [[name, bytes] as const])))
}

/** SHA-256, hexadecimal. */
export function digestOf(content: PolicyContent): string {
  const hash = createHash('sha256')
  for (const [name, bytes] of content) hash.update(`${name} ${bytes.length}\n`).update(bytes)
  return hash.digest('hex')
}

async function readIfThere(file: string): Promise<Uint8Array | undefined> {
  try {
    const found = await stat(file)
    // Reading a pipe or a device might never end.
    if (!found.isFile()) throw new ToolError(`${file} is not a regular file: replace it with one`)
    return await readFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
