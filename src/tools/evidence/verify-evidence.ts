/**
 * Whether evidence is whole, and whether each decision in it is as the policy of its moment says: the archive by its
 * checksums, the logs by their trees, the versions by their signatures, and each record by deciding it again.
 */
import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { makeFolder } from '../../base/files/make-folder.ts'
import { filesOfLog, openFilesOfLog } from '../../decision-log/log-files.ts'
import type { SignedHistory } from '../../decision-log/tree/signed-history.ts'
import { keyText } from '../../decision-log/tree/signed-note.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resources } from '../../resources/resource.ts'
import { type ArchiveFile, DamagedArchive, readArchive } from '../backup/archive/read-archive.ts'
import { diskFault } from '../backup/file-faults.ts'
import { beginAgain } from '../backup/unfinished.ts'
import { orFaults, ToolError } from '../load-policy.ts'
import { givenKey, historyOf, type OutsideCheckpoint, outsideCheckpoint, pinnedKey } from '../log-proof/tree-of-log.ts'
import { faultText } from '../log-proof/verdict.ts'
import { type LogFault, verifyLog } from '../log-proof/verify-log.ts'
import type { SignedVersions } from '../release/published-versions.ts'
import { type DecidedAll, decideAll, type SignedLines } from './decide-all.ts'
import { EVIDENCE, type EvidenceManifest, LOG_NAME, POLICY_PARTS } from './evidence-archive.ts'
import { folderPolicies, type KeptPolicies, signedPolicies } from './kept-policies.ts'
import { beginsLate, endsEarly, spanOf } from './log-span.ts'
import { type EvidencePeriod, periodText } from './period.ts'

/** What was kept elsewhere: each names the log that it is of. */
interface KeptElsewhere {
  /** Keys of the logs. */
  readonly keys: readonly string[]
  /** Checkpoints of the logs: the name of the file, and its text. */
  readonly checkpoints: readonly (readonly [file: string, note: string])[]
}

export interface EvidenceQuestion extends KeptElsewhere {
  readonly archive: ArchiveFile
  /** What verifies signed versions. `schemas`: the folder of the schemas of the evidence. */
  readonly verifier: (schemas: string) => Promise<Omit<SignedVersions, 'versions'>>
}

export interface VerifiedLog {
  /** In the archive: `log/1`. */
  readonly part: string
  /** The name in its checkpoints. */
  readonly log: string
  /** Its first key. */
  readonly key: string
  /** Somebody vouches for the key. */
  readonly pinned: boolean
  /** The first record in the evidence, and the time of the last signed one; null without any. */
  readonly first: { readonly record: number; readonly time: string | undefined } | null
  readonly last: string | null
  /** The number of records that its last checkpoint has signed. */
  readonly signed: number
  /** The checkpoints of --checkpoint that were compared. */
  readonly compared: number
  readonly beginsLate: boolean
  readonly endsEarly: boolean
}

export interface EvidenceVerdict {
  readonly manifest: EvidenceManifest | undefined
  /** As days or times. */
  readonly period: string
  /** Sentences: nothing of the archive, a log or a version may differ from what was written. */
  readonly faults: readonly string[]
  /** Sentences: why this isn't all that was decided, or isn't decided again. */
  readonly lacks: readonly string[]
  readonly logs: readonly VerifiedLog[]
  /** Undefined where the archive is damaged. */
  readonly decided: DecidedAll | undefined
}

export function isSound({ faults, lacks, decided }: EvidenceVerdict): boolean {
  return faults.length === 0 && lacks.length === 0 && decided?.different === 0
}

/** Throws ToolError, FileError, ConfigError, KeyError, and the errors of the file system. */
export async function verifyEvidence(question: EvidenceQuestion): Promise<EvidenceVerdict> {
  const { file } = question.archive
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) {
    const what = found ? `${file} is no file` : `there is no evidence ${file}`
    throw new ToolError(`${what}: name the file of \`evidence export\``)
  }
  const { folder, remove } = await beginAgain(tmpdir(), 'sallyport-evidence')
  try {
    const manifest = await readArchive(question.archive, EVIDENCE, (name, content) => keep(folder, name, content))
    return await verifyFolder(folder, manifest, question)
  } catch (error) {
    if (error instanceof DamagedArchive) return damaged(error.faults, undefined)
    throw named(error, folder)
  } finally {
    await remove()
  }
}

function damaged(faults: readonly string[], manifest: EvidenceManifest | undefined): EvidenceVerdict {
  return { manifest, period: '', faults, lacks: [], logs: [], decided: undefined }
}

/** Files are named as in the archive. */
function named(error: unknown, folder: string): unknown {
  if (diskFault(folder, error) !== error) {
    return new ToolError(`the disk of ${tmpdir()} is full: make room, or set TMPDIR to a folder on another disk`)
  }
  return error instanceof ToolError ? new ToolError(error.message.replaceAll(`${folder}/`, '')) : error
}

/** The name is one that evidence has (`EVIDENCE.isPart`), so it leads nowhere else. */
async function keep(folder: string, name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const file = join(folder, name)
  await makeFolder(dirname(file))
  await pipeline(Readable.from(content), createWriteStream(file, { flags: 'wx', mode: 0o600 }))
}

async function verifyFolder(
  folder: string,
  manifest: EvidenceManifest,
  { verifier, ...kept }: EvidenceQuestion,
): Promise<EvidenceVerdict> {
  const schemas = join(folder, 'schemas')
  const resources = await orFaults<Resources, string>(
    () => loadResources(schemas),
    ({ message }) => message.replaceAll(`${folder}/`, ''),
  )
  if (typeof resources === 'string') return damaged([`the schemas can't be used: ${resources}`], manifest)
  const places = Array.from({ length: manifest.logs }, (_, i) => join(folder, 'log', String(i + 1)))
  const histories = await Promise.all(places.map((place) => historyOf(join(place, 'tree'))))
  refuseOthers(kept, histories)
  const period = { from: Date.parse(manifest.period.from), until: Date.parse(manifest.period.until) }
  const policies = await policiesIn(folder, manifest, { resources, verifier: () => verifier(schemas) })
  const logs = await Promise.all(
    histories.map((history, i) => verifyOneLog(places[i] ?? '', { history, period, kept, place: `log/${i + 1}` })),
  )
  const decided = await decideAll(
    logs.map(({ lines }) => lines),
    period,
    policies.policyOf,
  )
  const names = histories.map(({ origin }) => origin)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  return {
    manifest,
    period: periodText(period),
    faults: [
      ...logs.flatMap(({ faults }) => faults),
      ...(twice === undefined ? [] : [`the log ${twice} is there twice`]),
      ...(policies.broken === undefined ? [] : [policies.broken]),
    ],
    lacks: [...logs.flatMap(({ log }) => lacksOf(log)), ...undecidedIn(decided)],
    logs: logs.map(({ log }) => log),
    decided,
  }
}

function undecidedIn({ same, different, unknown }: DecidedAll): readonly string[] {
  const lacks = [...unknown].map(([why, times]) => `${times.toLocaleString('en')} not decided again: ${why}`)
  return same + different === 0 ? [...lacks, 'no decision of the period was decided again'] : lacks
}

/** The first record of a log has the number 0. */
function lacksOf({ part, log, first, beginsLate: late }: VerifiedLog): readonly string[] {
  if (!first || first.record === 0 || !late) return []
  return [`${part} (${log}) begins with record ${first.record} (${first.time}): those before it may be of the period`]
}

// ---- Logs.

/** Throws ToolError for a key or a checkpoint of a log that the evidence doesn't have. */
function refuseOthers({ keys, checkpoints }: KeptElsewhere, histories: readonly SignedHistory[]): void {
  const names = histories.map(({ origin }) => origin)
  const given = [...keys.map((key) => ['--key', givenKey(key).name] as const), ...checkpoints.map(originOf)]
  const other = given.find(([, name]) => !names.includes(name))
  if (other) throw new ToolError(`${other[0]} is of no log of the evidence: name what is of ${names.join(' or ')}`)
}

function originOf([file, note]: KeptElsewhere['checkpoints'][number]): readonly [file: string, name: string] {
  return [file, note.slice(0, note.indexOf('\n'))]
}

interface LogQuestion {
  readonly place: string
  readonly history: SignedHistory
  readonly period: EvidencePeriod
  readonly kept: KeptElsewhere
}

async function verifyOneLog(
  folder: string,
  { place, history, period, kept }: LogQuestion,
): Promise<{ readonly log: VerifiedLog; readonly faults: readonly string[]; readonly lines: SignedLines }> {
  const { origin, checkpoints, keys } = history
  const pins = kept.keys.filter((key) => givenKey(key).name === origin).map((key) => pinnedKey(key, history))
  const outside = kept.checkpoints
    .filter((one) => originOf(one)[1] === origin)
    .map(([file, note]) => outsideCheckpoint(file, note, history))
  const log = join(folder, LOG_NAME)
  const files = await filesOfLog(log)
  const verdict = await verifyLog(files, join(folder, 'tree'), history, outside)
  const { whole, newer, newest, first } = verdict
  await using opened = new AsyncDisposableStack()
  const span = await spanOf(
    (await openFilesOfLog(log)).map((file) => opened.use(file)),
    newer,
  )
  const textOf = (fault: LogFault) =>
    fault.kind === 'cut' ? cutText(fault.checkpoint, verdict.newest?.size ?? 0) : faultText(fault, checkpoints)
  const texts = verdict.faults.map((fault) => textOf(fault).replaceAll(`${folder}/`, ''))
  return {
    log: {
      ...{ part: place, log: origin, key: keys[0] ? keyText(keys[0]) : '', pinned: pins.length > 0 },
      ...{ first: first === undefined ? null : { record: first, time: span.first }, last: span.last ?? null },
      ...{ signed: newest?.size ?? 0, compared: outside.length },
      ...{ beginsLate: beginsLate(span, period), endsEarly: endsEarly(span, period) },
    },
    faults: texts.map((text) => `${place} (${origin}): ${text}`),
    lines: { files, signed: whole },
  }
}

/** A copy that is newer than the export has more records than any honest evidence. */
function cutText({ place, size }: OutsideCheckpoint, signed: number): string {
  return `cut: ${place} signs ${size} records, and the evidence ends with ${signed} signed ones: the last ones were left out, or ${place} is newer than the export; if it is, name an older copy`
}

// ---- Versions of the policy.

interface VersionParts {
  readonly resources: Resources
  readonly verifier: () => Promise<Omit<SignedVersions, 'versions'>>
}

async function policiesIn(
  folder: string,
  { policy }: EvidenceManifest,
  { resources, verifier }: VersionParts,
): Promise<KeptPolicies> {
  const file = join(folder, POLICY_PARTS[policy])
  return policy === 'folder' ? folderPolicies(file, resources) : signedPolicies(file, await verifier(), resources)
}
