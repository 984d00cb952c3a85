/** The versioned files of a policy directory as bytes, whether or not a server would accept them. */
import { createHash } from 'node:crypto'
import { readProjectFile } from '../../base/files/project-file.ts'
import { filePath, findPolicyFolder } from '../../policy/policy-folder.ts'
import { ToolError } from '../load-policy.ts'
import { VERSIONED_FILES } from './folder/layout.ts'

/** By file name; a missing file has no entry. */
export type PolicyContent = ReadonlyMap<string, Uint8Array>

/** Reads the files that are in force, also while others are being written. */
export async function readContent(directory: string): Promise<PolicyContent> {
  const place = await findPolicyFolder(directory, VERSIONED_FILES)
  const files = await Promise.all(
    VERSIONED_FILES.map(async (name) => [name, await readIfThere(filePath(place, name), directory)] as const),
  )
  return new Map(files.flatMap(([name, bytes]) => (bytes === undefined ? [] : [[name, bytes] as const])))
}

/** SHA-256, hexadecimal. */
export function digestOf(content: PolicyContent): string {
  const hash = createHash('sha256')
  for (const [name, bytes] of content) hash.update(`${name} ${bytes.length}\n`).update(bytes)
  return hash.digest('hex')
}

async function readIfThere(file: string, directory: string): Promise<Uint8Array | undefined> {
  try {
    return await readProjectFile(file, directory)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw code === undefined ? new ToolError(`${file} ${message.replace(/^it /, '')}: replace it with a file`) : error
  }
}
