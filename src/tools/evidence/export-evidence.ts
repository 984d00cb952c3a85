/**
 * Makes evidence of a period in one file: the decision logs with what was signed about them, the versions of the policy,
 * the schemas, and what commands say about them now. The server may be running.
 */
import { existsSync } from 'node:fs'
import { type FileHandle, readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { openFilesOfLog } from '../../decision-log/log-files.ts'
import { readNewest } from '../../decision-log/tree/history.ts'
import { treeFolder } from '../../decision-log/tree/log-tree.ts'
import { schemaFileNames } from '../../resources/load/load-resources.ts'
import { type ArchivePart, bytesPart, writeArchive } from '../backup/archive/write-archive.ts'
import { readSteadily } from '../backup/server/steady-folder.ts'
import { ToolError } from '../load-policy.ts'
import { historyOf } from '../log-proof/tree-of-log.ts'
import {
  EVIDENCE,
  type EvidenceManifest,
  type EvidenceReport,
  filePart,
  LOG_NAME,
  MOST_LOGS,
} from './evidence-archive.ts'
import { beginsLate, endsEarly, type LogSpan, spanOf } from './log-span.ts'
import type { EvidencePeriod } from './period.ts'

export interface EvidenceParts {
  readonly period: EvidencePeriod
  /** Files of logs. A file without a tree was moved away from the log that comes next. */
  readonly logs: readonly string[]
  /** Copies the versions of the policy. Asked after the logs, so that it has the version of each record. */
  readonly policy: () => Promise<PolicyCopy>
  readonly schemas: string
  /** What commands print, which takes a while. */
  readonly reports: () => Promise<readonly PrintedReport[]>
  /** Files that others have made, such as access reviews. */
  readonly added: readonly string[]
  /** The version of this program. */
  readonly program: string
  readonly now: Date
}

export interface PrintedReport extends EvidenceReport {
  readonly output: string
}

export interface PolicyCopy {
  readonly kind: EvidenceManifest['policy']
  readonly part: ArchivePart
}

interface ExportedEvidence {
  readonly manifest: EvidenceManifest
  /** Sentences about the parts of the period that the logs don't reach. */
  readonly gaps: readonly string[]
}

/** Throws ToolError, and the errors of the file system. The file must not exist. */
export async function exportEvidence(
  file: string,
  { period, logs, policy, schemas, reports, added, program, now }: EvidenceParts,
  recipients: readonly string[],
): Promise<ExportedEvidence> {
  await using opened = new AsyncDisposableStack()
  const beginning = { format: EVIDENCE.format, program, createdAt: now.toISOString() }
  // First what may be refused: reports take long.
  const found = logsAmong(logs)
  const others = await Promise.all(added.map((one) => filePart(one, `added/${basename(one)}`)))
  const printed = await reports()
  const gathered = await openLogs(found, period, opened)
  const versions = await policy()
  const parts = [
    versions.part,
    ...(await readSteadily(schemas, schemaFileNames)).map(({ name, bytes }) => bytesPart(`schemas/${name}`, bytes)),
    ...printed
      .filter(({ exitCode }) => exitCode < 2)
      .map(({ name, output }) => bytesPart(`reports/${name}.json`, Buffer.from(output))),
    ...others,
    ...gathered.flatMap((log) => log.parts),
  ]
  const odd = parts.find(({ name }) => !EVIDENCE.isPart(name))
  if (odd) throw new ToolError(`no evidence can have a part \`${odd.name}\`: give the file another name`)
  const names = new Set(parts.map(({ name }) => name))
  if (names.size < parts.length) throw new ToolError('two files of --add have one name: give one of them another name')
  const manifest = (sums: EvidenceManifest['parts']): EvidenceManifest => ({
    ...beginning,
    period: { from: new Date(period.from).toISOString(), until: new Date(period.until).toISOString() },
    logs: gathered.length,
    policy: versions.kind,
    reports: printed.map(({ output: _, ...report }) => report),
    parts: sums,
  })
  const written = await writeArchive(file, { kind: EVIDENCE, beginning, parts, manifest }, recipients)
  const open = period.until > now.getTime() ? ['the period is not over: later records are not in it'] : []
  return { manifest: written, gaps: [...gathered.flatMap((log) => gapsOf(log, period)), ...open] }
}

// ---- The logs.

interface GatheredLog {
  readonly file: string
  readonly parts: readonly ArchivePart[]
  readonly span: LogSpan
}

async function openLogs(
  logs: readonly (readonly string[])[],
  period: EvidencePeriod,
  opened: AsyncDisposableStack,
): Promise<readonly GatheredLog[]> {
  const found: GatheredLog[] = []
  const known = { origins: new Set<string>(), files: new Set<string>() }
  for (const [at, names] of logs.entries()) {
    const log = names.at(-1) ?? ''
    const { origin } = await historyOf(treeFolder(log))
    refuseTwice(known.origins, origin, `${log} has the tree of another log that is named, ${origin}`)
    // First the tree: what it has signed is in the files that are read afterwards.
    const tree = await partsOfTree(treeFolder(log), `log/${at + 1}/tree`)
    const handles: FileHandle[] = []
    for (const name of names) handles.push(...(await openFilesOfLog(name)).map((handle) => opened.use(handle)))
    for (const handle of handles) {
      const { dev, ino } = await handle.stat()
      refuseTwice(known.files, `${dev} ${ino}`, `two of the files that are named with ${log} are the same`)
    }
    const since = await filesSince(handles, period.from)
    const ofFiles = since.map((handle, i) => partOfFile(handle, since.length - 1 - i, `log/${at + 1}/${LOG_NAME}`))
    found.push({ file: log, parts: [...tree, ...(await Promise.all(ofFiles))], span: await spanOf(since) })
  }
  return found
}

function logsAmong(files: readonly string[]): readonly (readonly string[])[] {
  const logs: string[][] = []
  let names: string[] = []
  for (const file of files) {
    names.push(file)
    if (!existsSync(treeFolder(file))) continue
    logs.push(names)
    names = []
  }
  const [lost] = names.toReversed()
  if (lost !== undefined) {
    throw new ToolError(
      `there is no tree ${treeFolder(lost)}: name moved files before their log; a log that no version with trees wrote is no evidence`,
    )
  }
  if (logs.length > MOST_LOGS) throw new ToolError(`${logs.length} logs are too many: name at most ${MOST_LOGS}`)
  return logs
}

function refuseTwice(known: Set<string>, one: string, why: string): void {
  if (known.has(one)) throw new ToolError(`${why}: name each log once`)
  known.add(one)
}

function gapsOf({ file, span }: GatheredLog, period: EvidencePeriod): readonly string[] {
  const { first = 'no record', last = 'no record' } = span
  return [
    ...(beginsLate(span, period) ? [`${file} begins after the period does (${first})`] : []),
    ...(endsEarly(span, period) ? [`${file} ends before the period does (${last})`] : []),
  ]
}

/**
 * Without the files that were last written before this time. One of them stays: its records show where the period begins.
 * A record may come late, so the times of records tell less.
 */
async function filesSince(files: readonly FileHandle[], from: number): Promise<readonly FileHandle[]> {
  const written = await Promise.all(files.map(async (file) => (await file.stat()).mtimeMs))
  const first = written.findIndex((time) => time >= from)
  return files.slice(Math.max(0, (first < 0 ? files.length : first) - 1))
}

/** A file may get another name meanwhile, so it is read by its handle. `newer`: how many files of the log are newer. */
async function partOfFile(handle: FileHandle, newer: number, first: string): Promise<ArchivePart> {
  const name = newer === 0 ? first : `${first}.${newer}`
  const bytes = await endOfLastLine(handle)
  return { name, bytes, content: firstBytes(handle, bytes) }
}

async function* firstBytes(handle: FileHandle, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; ) {
    const length = Math.min(CHUNK_BYTES, bytes - at)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), { position: at })
    if (bytesRead === 0) throw new ToolError('a log was cut while it was read: try again')
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

const CHUNK_BYTES = 1024 * 1024

/** In bytes: behind it, a line is being written. */
async function endOfLastLine(handle: FileHandle): Promise<number> {
  for (let end = (await handle.stat()).size; end > 0; ) {
    const begin = Math.max(0, end - CHUNK_BYTES)
    const { buffer } = await handle.read(Buffer.alloc(end - begin), { position: begin })
    const at = buffer.lastIndexOf(0x0a)
    if (at >= 0) return begin + at + 1
    end = begin
  }
  return 0
}

// ---- Their trees.

const FULL_TILE = /^tile\/\d{1,2}(?:\/x?\d{3}){1,6}$/
const MOST_LOOKS = 20

/** As it is at one moment: a server that signs writes new files, and removes those that nobody needs any more. */
async function partsOfTree(folder: string, place: string): Promise<readonly ArchivePart[]> {
  for (let look = 1; look <= MOST_LOOKS; look += 1) {
    const before = await readNewest(folder)
    const found = await readTree(folder, place).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (!found || (await readNewest(folder))?.note !== before?.note) continue
    const full = found.full.map((name) => filePart(join(folder, name), `${place}/${name}`))
    return [...found.others, ...(await Promise.all(full))]
  }
  throw new ToolError(`the tree ${folder} kept changing while it was read: try again`)
}

/** A full tile never changes; all else is read at once. The keys stay where they are. */
async function readTree(folder: string, place: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = entries
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(folder.length + 1))
    .filter((name) => EVIDENCE.isPart(`${place}/${name}`))
  const full = names.filter((name) => FULL_TILE.test(name))
  const others: ArchivePart[] = []
  for (const name of names.filter((one) => !FULL_TILE.test(one)).sort()) {
    others.push(bytesPart(`${place}/${name}`, await readFile(join(folder, name))))
  }
  return { full: full.sort(), others }
}
