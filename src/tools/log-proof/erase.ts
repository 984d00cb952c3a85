/**
 * Erases what a decision log knows of a person, in place: a server may be adding lines meanwhile. The commitments stay, so
 * the log and every proof still verify (decision-log/sealed-line.ts).
 */
import type { FileHandle } from 'node:fs/promises'
import { isObject } from '../../base/is-object.ts'
import { parseMembers } from '../../decision-log/decision-record.ts'
import { linesWithEnds, openFilesOfLog } from '../../decision-log/log-files.ts'
import { erasedSeal, isHalfErased, type PersonalPart, personalParts } from '../../decision-log/sealed-line.ts'
import { quote } from '../../present/quote.ts'
import { count } from '../../present/text.ts'

export interface Erasure {
  /** Files that were read. */
  files: number
  /** Records of the person's own requests. */
  own: number
  /** Records of others' requests whose facts name the person. */
  naming: number
  /** Records that an erasure before left half erased. */
  finished: number
  /** Records of the person, or that name it, by an earlier version: they have no parts that can be erased. */
  unsealed: number
}

interface ErasedPlace {
  /** In bytes, from the beginning of the file. */
  readonly offset: number
  readonly part: PersonalPart
}

/** Edits in memory at a time. */
const MOST_EDITS = 10_000

/**
 * `subject`: the id of the person. Whatever says this text as a whole value is of the person. Throws the errors of the
 * file system.
 */
export async function erasePerson(
  logs: readonly string[],
  subject: string,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Erasure> {
  const counts: Erasure = { files: 0, own: 0, naming: 0, finished: 0, unsealed: 0 }
  for (const log of logs) {
    await using opened = new AsyncDisposableStack()
    const files = await openFilesOfLog(log, dryRun ? 'r' : 'r+')
    for (const file of files) opened.use(file)
    counts.files += files.length
    for (const file of files) await eraseIn(file, (line) => partsToErase(line, subject, counts), dryRun)
  }
  return counts
}

async function eraseIn(
  handle: FileHandle,
  toErase: (line: string) => readonly PersonalPart[],
  dryRun: boolean,
): Promise<void> {
  let edits: ErasedPlace[] = []
  for await (const { line, start } of linesWithEnds(handle)) {
    edits.push(...toErase(line).map((part) => ({ offset: start + part.offset, part })))
    if (dryRun) edits = []
    if (edits.length < MOST_EDITS) continue
    await overwrite(handle, edits)
    edits = []
  }
  await overwrite(handle, edits)
}

function partsToErase(line: string, subject: string, counts: Erasure): readonly PersonalPart[] {
  const parts = personalParts(line)
  const record = parseMembers(line)
  if (!record) {
    const half = parts.filter(isHalfErased)
    if (half.length > 0) counts.finished += 1
    return half
  }
  const isOwn = record.subject === subject
  const isNamed = isOwn || names(factsOf(record), subject)
  if (!isNamed) return []
  if (parts.length === 0) {
    counts.unsealed += 1
    return []
  }
  counts[isOwn ? 'own' : 'naming'] += 1
  return parts.filter(({ name, text }) => text !== undefined && (isOwn || name === 'facts'))
}

/** An object's id is a person's only where the objects are people. */
function factsOf(record: Readonly<Record<string, unknown>>): unknown {
  const { parent, objectId, facts, asked, searched, expanded, along, migrated, resource, arguments: typed } = record
  const isOfPeople = resource === 'users' || (typeof resource === 'string' && resource.startsWith('system/'))
  return [parent, facts, asked, searched, expanded, along, migrated, wordsIn(typed), ...(isOfPeople ? [objectId] : [])]
}

/** Of a command, also the part behind `--subject=` or `user:`. */
function wordsIn(typed: unknown): unknown {
  if (!Array.isArray(typed)) return typed
  return typed
    .map(String)
    .flatMap((word) => [word, word.replace(/^--[\w-]+=/, ''), word.replace(/^(?:--[\w-]+=)?user:/, '')])
}

function names(value: unknown, subject: string): boolean {
  if (Array.isArray(value)) return value.some((one) => names(one, subject))
  if (isObject(value)) return Object.values(value).some((one) => names(one, subject))
  return value === subject
}

/** First all commitments, then the spaces: whatever stops it between, each line has its commitment whole. */
async function overwrite(handle: FileHandle, edits: readonly ErasedPlace[]): Promise<void> {
  if (edits.length === 0) return
  for (const { offset, part } of edits) await writeAll(handle, erasedSeal(part), offset)
  await handle.sync()
  for (const { offset, part } of edits) {
    const seal = erasedSeal(part).length
    await writeAll(handle, ' '.repeat(part.bytes - seal), offset + seal)
  }
  await handle.sync()
}

async function writeAll(handle: FileHandle, text: string, offset: number): Promise<void> {
  const bytes = Buffer.from(text)
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written, bytes.length - written, offset + written)).bytesWritten
  }
}

export function erasureText({ own, naming, finished, unsealed }: Erasure, subject: string, dryRun: boolean): string {
  const counts = `${count(own, 'record')} of requests by ${quote(subject)}, and the facts of ${count(naming, 'other record')}`
  const lines = [`${dryRun ? 'would erase' : 'erased'}: ${counts}`]
  if (finished > 0)
    lines.push(`  ${dryRun ? 'would finish' : 'finished'}: ${count(finished, 'record')} that was left half erased`)
  if (unsealed > 0)
    lines.push(`  not erased: ${count(unsealed, 'record')} by an earlier version: delete their files, which are older`)
  return `${lines.join('\n')}\n`
}
