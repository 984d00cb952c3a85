/** What an archive of `evidence export` has. schemas/evidence.schema.json is the exact shape of its manifest. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isManifest } from '#compiled/evidence-manifest'
import type { AnyManifest, ArchiveKind } from '../backup/archive/archive-kind.ts'
import { placeOfPart } from '../backup/archive/manifest.ts'
import type { ArchivePart } from '../backup/archive/write-archive.ts'

export interface EvidenceReport {
  /** `reports/<name>.json` is what it printed. */
  readonly name: string
  readonly command: string
  readonly exitCode: number
  /** Why it could not run. */
  readonly why?: string
}

export interface EvidenceManifest extends AnyManifest {
  readonly period: { readonly from: string; readonly until: string }
  /** How many decision logs there are: `log/1`, `log/2`, … */
  readonly logs: number
  readonly policy: 'database' | 'folder'
  readonly reports: readonly EvidenceReport[]
}

/** The versions of a policy: a copy of the database's, or what a folder keeps. */
export const POLICY_PARTS = { database: 'policy/history.json', folder: 'policy/folder.json' } as const

/** Of a log, in the archive. */
export const LOG_NAME = 'decisions.log'

/** Of one archive. */
export const MOST_LOGS = 99

/** A private key has a dot in its name. */
const LOG_PART =
  /^log\/[1-9]\d?\/(?:decisions\.log(?:\.[1-9]\d{0,5})?|tree\/(?!tile$)[a-z]{1,20}|tree\/tile\/\d{1,2}(?:\/x?\d{3}){1,6}(?:\.p\/\d{1,3})?)$/
const OTHER_PART =
  /^(?:policy\/(?:history|folder)\.json|reports\/[a-z-]{1,40}\.json|added\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99})$/

function missingParts(names: readonly string[], { logs, policy, reports }: EvidenceManifest): readonly string[] {
  const needed = [
    ...Array.from({ length: logs }, (_, i) => `log/${i + 1}/tree/checkpoints`),
    POLICY_PARTS[policy],
    ...reports.filter(({ exitCode }) => exitCode < 2).map(({ name }) => `reports/${name}.json`),
  ]
  const others = names.filter((name) => Number(/^log\/(?<log>\d+)\//.exec(name)?.groups?.log ?? 0) > logs)
  return [
    ...needed.filter((name) => !names.includes(name)).map((name) => `it has no part \`${name}\``),
    ...(names.some((name) => name.startsWith('schemas/')) ? [] : ['it has no schemas']),
    ...others.slice(0, 1).map((name) => `no log has the part \`${name}\``),
  ]
}

export const EVIDENCE: ArchiveKind<EvidenceManifest> = {
  beginning: 'evidence.json',
  format: 1,
  command: 'sallyport evidence',
  isPart: (name) => LOG_PART.test(name) || OTHER_PART.test(name) || placeOfPart(name)?.group === 'schemas',
  // Nothing reads reports and added files, and logs are read line by line.
  isLarge: (name) => !/^(?:schemas|log\/\d+\/tree)\//.test(name),
  isManifest,
  missing: missingParts,
}

/** A file that nobody changes meanwhile. */
export async function filePart(file: string, name: string): Promise<ArchivePart> {
  return { name, bytes: (await stat(file)).size, content: bytesOf(file) }
}

/** Opens the file only when it is read. */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(file, { highWaterMark: 1024 * 1024 })
}
