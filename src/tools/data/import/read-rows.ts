/** The lines of an import: objects as an export writes them, and the last line of an export. */

import { createReadStream } from 'node:fs'
import { LineTooLong, linesIn } from '../../../base/files/lines.ts'
import { systemReason } from '../../../base/files/system-reason.ts'
import { isObject } from '../../../base/is-object.ts'
import { parseStrictLine } from '../../../resources/json/strict-json.ts'
import type { Representation, Resource } from '../../../resources/resource.ts'
import { ToolError } from '../../load-policy.ts'
import type { NamingField } from '../../references.ts'

export interface ImportRow {
  /** Counted from 1. */
  readonly line: number
  readonly text: string
  readonly resource: Resource
  readonly object: Representation
}

/** What is known of a file before anything is written. */
export interface Survey {
  readonly rows: number
  /** Resource -> id -> the line that has the object, for the resources that others name. */
  readonly lines: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Whether the last line of an export is there, and counts the objects before it. */
  readonly complete: boolean
}

/** Characters. The largest object that limits.yaml can allow is smaller. */
const LONGEST_LINE = 2 ** 26

type NamedIn = (resource: Resource) => readonly NamingField[]

/** Reads the whole file. Throws ToolError for the first line that isn't a row. */
export async function survey(file: string, stored: readonly Resource[], namedIn: NamedIn): Promise<Survey> {
  const targets = new Set(stored.flatMap((resource) => namedIn(resource).map(({ to }) => to)))
  const lines = new Map([...targets].map((name) => [name, new Map<string, number>()]))
  let rows = 0
  let end: number | undefined
  for await (const one of entriesIn(file, stored)) {
    if (end !== undefined) throw faulty(file, one.line, 'stands after the last line of an export: remove the end line')
    if (one.kind === 'end') {
      end = one.objects
      continue
    }
    rows += 1
    const { resource, object, line } = one.row
    const known = lines.get(resource.name)
    if (!known || typeof object.id !== 'string') continue
    const before = known.get(object.id)
    if (before !== undefined) throw faulty(file, line, `has the id of line ${before}: remove one of them`)
    known.set(object.id, line)
  }
  return { rows, lines, complete: end === rows }
}

/** The same file again, row by row. */
export async function* rowsIn(file: string, stored: readonly Resource[]): AsyncGenerator<ImportRow> {
  for await (const one of entriesIn(file, stored)) if (one.kind === 'row') yield one.row
}

type ImportEntry =
  | { readonly kind: 'row'; readonly line: number; readonly row: ImportRow }
  | { readonly kind: 'end'; readonly line: number; readonly objects: number }

async function* entriesIn(file: string, stored: readonly Resource[]): AsyncGenerator<ImportEntry> {
  const byName = new Map(stored.map((resource) => [resource.name, resource]))
  let line = 0
  for await (const text of textLines(file)) {
    line += 1
    if (text.trim() !== '') yield read(file, text, line, byName)
  }
}

/** Throws ToolError for a file that can't be read, and for a line that is too long. */
async function* textLines(file: string): AsyncGenerator<string> {
  try {
    yield* linesIn(createReadStream(file, 'utf8'), LONGEST_LINE)
  } catch (error) {
    if (error instanceof LineTooLong)
      throw faulty(file, error.line, 'is longer than any object: write an object a line')
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new ToolError(`${file} can't be read (${systemReason(code)}): name a file that \`data export\` has written`)
  }
}

function read(file: string, text: string, line: number, byName: ReadonlyMap<string, Resource>): ImportEntry {
  const json = parseStrictLine(text, (what) => {
    throw faulty(file, line, `is not strict JSON: correct ${what}`)
  })
  if (!isObject(json)) throw faulty(file, line, 'is not a JSON object: write an object a line')
  if (isObject(json.end) && Number.isInteger(json.end.objects)) {
    return { kind: 'end', line, objects: Number(json.end.objects) }
  }
  const { resource: name, object } = json
  const resource = typeof name === 'string' ? byName.get(name) : undefined
  if (!resource) throw faulty(file, line, 'names no resource of the schemas: write {"resource": …, "object": …}')
  if (!isObject(object)) throw faulty(file, line, 'has no object: write {"resource": …, "object": …}')
  return { kind: 'row', line, row: { line, text, resource, object: object as Representation } }
}

function faulty(file: string, line: number, what: string): ToolError {
  return new ToolError(`${file}:${line}: the line ${what}; nothing was written`)
}
