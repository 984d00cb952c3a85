/** Reads the schema files of a directory. The only code of this folder that touches the disk. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { SchemaCode } from '../check/codes.ts'
import { faultAt, type SourceText } from '../schema/schema-file.ts'

export interface ReadSchemas {
  /** In the order of their names. */
  readonly sources: readonly SourceText[]
  readonly faults: readonly Diagnostic[]
}

/** All `*.json` of the directory; what can't be read is a fault. Never rejects. */
export async function readSchemas(directory: string): Promise<ReadSchemas> {
  const names = await namesIn(directory)
  if (names === undefined) return failed(directory, 'directory-unreadable', 'the directory of schemas cannot be read')
  if (names.length === 0) return failed(directory, 'directory-empty', 'the directory has no schema files')
  const read = await Promise.all(names.map((name) => readSource(join(directory, name))))
  return { sources: read.flatMap(({ sources }) => sources), faults: read.flatMap(({ faults }) => faults) }
}

async function namesIn(directory: string): Promise<readonly string[] | undefined> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.json')).sort()
  } catch {
    return undefined
  }
}

async function readSource(name: string): Promise<ReadSchemas> {
  const bytes = await readFile(name).catch(() => undefined)
  if (bytes === undefined) return failed(name, 'file-unreadable', 'the file cannot be read')
  try {
    // With the byte order mark kept, the JSON parser sees it and refuses it.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { sources: [{ name, text }], faults: [] }
  } catch {
    return failed(name, 'file-encoding', 'the file is not UTF-8')
  }
}

function failed(name: string, code: SchemaCode, message: string): ReadSchemas {
  return { sources: [], faults: [faultAt({ name, text: '' }, 0, code, message)] }
}
