/** The versioned files of a policy directory as bytes, whether or not a server would accept them. */
import { createHash } from 'node:crypto'
import { readProjectFile } from '../../base/files/project-file.ts'
import { revisionOfContent } from '../../policy/policy-files.ts'
import { BLOCKED_FILE, filePath, findPolicyFolder } from '../../policy/policy-folder.ts'
import { digestOfText } from '../../policy/published/signed-version.ts'
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

/**
 * How a version or a proposal names its files, and their texts by digest. Throws ToolError for a text that no database
 * keeps.
 */
export function describedFiles(content: PolicyContent, blocked: string) {
  const texts = new Map([...content].map(([name, bytes]) => [name, textOf(name, bytes)]))
  texts.set(BLOCKED_FILE, blocked)
  const files = Object.fromEntries([...texts].map(([name, text]) => [name, digestOfText(text)]))
  const described = { revision: revisionOfContent(content, blocked), digest: digestOf(content), files }
  return { described, texts: new Map([...texts.values()].map((text) => [digestOfText(text), text])) }
}

/** With its byte order mark, which is part of the revision. */
function textOf(name: string, bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  if (text.includes('\0')) throw new ToolError(`${name} has a character U+0000: delete it`)
  return text
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
