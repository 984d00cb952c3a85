/**
 * Sends each row of a file as a POST of the caller: the policy, the schema and the decision log see it like any other
 * request. The rows of a group are sent at once, and an object is written before those that name it.
 */
import { createHash } from 'node:crypto'
import { USERS } from '../../../decide/policy.ts'
import { isSubject } from '../../../identity/caller.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { ToolError } from '../../load-policy.ts'
import { type NamingField, objectsNamed } from '../../references.ts'
import { answerText } from '../export/export-data.ts'
import type { Pipeline, PipelineAnswer } from '../pipeline.ts'
import { pathOf } from '../routes-of.ts'
import { type ImportRow, rowsIn, type Survey, survey } from './read-rows.ts'

/** Rows that are sent at once commit together. */
const PARALLEL = 16
/** A report of a million refusals would help nobody. */
const MOST_REFUSED = 1000

interface ImportOptions {
  readonly file: string
  readonly keepIds: boolean
  /** Earlier lines are skipped. */
  readonly fromLine: number
  /** Import a file without the last line of an export. */
  readonly incomplete: boolean
  /** Distinguishes this import from an earlier one of the same lines; empty for the same import. */
  readonly run: string
  readonly now: number
  readonly signal: AbortSignal
  readonly progress: { total(rows: number): void; done(rows: number): void }
}

export interface RefusedLine {
  readonly line: number
  readonly resource: string
  /** Undefined if no request was sent. */
  readonly status?: number
  readonly code?: string
  readonly why: string
}

export interface ImportReport {
  readonly rows: number
  readonly written: number
  /** Written by an earlier run, in the last 24 hours. */
  readonly writtenBefore: number
  /** The lines whose objects are stored now, like `1-500` or `502`. */
  readonly writtenLines: readonly string[]
  readonly refused: number
  /** The first 1000. */
  readonly refusedLines: readonly RefusedLine[]
  /** The first line that was not tried, if the import was stopped, and why. */
  readonly stopped?: { readonly line: number; readonly why: string }
}

/** Throws ToolError before anything is written. */
export async function importData(pipeline: Pipeline, options: ImportOptions): Promise<ImportReport> {
  const stored = storedResources(pipeline.resources)
  const found = await survey(options.file, stored, ({ name }) => objectsNamed(pipeline.policy, name))
  if (!found.complete && !options.incomplete) {
    throw new ToolError(
      `${options.file} doesn't end with the last line of a whole export: export again, or import the part with --incomplete`,
    )
  }
  options.progress.total(found.rows)
  const run = new ImportRun(pipeline, options, new IdMap(found))
  for await (const row of rowsIn(options.file, stored)) if (!(await run.take(row))) break
  return run.end(found.rows)
}

class ImportRun {
  readonly #pipeline: Pipeline
  readonly #options: ImportOptions
  readonly #ids: IdMap
  readonly #lines: number[] = []
  readonly #named = new Map<Resource, readonly NamingField[]>()
  readonly #refusedLines: RefusedLine[] = []
  #group: Promise<void>[] = []
  #stopped: ImportReport['stopped']
  readonly #counts = { written: 0, writtenBefore: 0, refused: 0 }

  constructor(pipeline: Pipeline, options: ImportOptions, ids: IdMap) {
    this.#pipeline = pipeline
    this.#options = options
    this.#ids = ids
  }

  /** False when nothing more is to be sent. */
  async take(row: ImportRow): Promise<boolean> {
    const { signal, fromLine, progress } = this.#options
    if (row.line < fromLine) {
      progress.done(1)
      return true
    }
    if (signal.aborted) this.#stop(row.line, 'it was interrupted')
    if (this.#stopped) return false
    const named = this.#named.getOrInsertComputed(row.resource, ({ name }) => {
      return this.#options.keepIds ? [] : objectsNamed(this.#pipeline.policy, name)
    })
    let mapped = this.#ids.bodyOf(row, named)
    if (mapped.kind === 'waits') {
      await this.#flush()
      mapped = this.#ids.bodyOf(row, named)
    }
    if (mapped.kind === 'unwritten') this.#refuse(row, { why: mapped.why })
    else if (mapped.kind === 'body') await this.#add(row, mapped.body)
    return true
  }

  async end(rows: number): Promise<ImportReport> {
    await this.#flush()
    this.#refusedLines.sort((one, other) => one.line - other.line)
    return {
      rows,
      ...this.#counts,
      writtenLines: lineRanges(this.#lines),
      refusedLines: this.#refusedLines,
      ...(this.#stopped ? { stopped: this.#stopped } : {}),
    }
  }

  async #add(row: ImportRow, body: ImportRow['object']): Promise<void> {
    const path = pathOf(row.resource, 'create', this.#options.now)
    if (path === undefined) return this.#refuse(row, { why: `no route creates objects of ${row.resource.name}` })
    if (this.#options.keepIds && row.resource.name === USERS && !isSubject(row.object.id)) {
      return this.#refuse(row, { why: 'the id can not be the id of a user' })
    }
    this.#ids.begin(row)
    this.#group.push(this.#send(row, path, body))
    if (this.#group.length === PARALLEL) await this.#flush()
  }

  async #flush(): Promise<void> {
    const group = this.#group
    this.#group = []
    await Promise.all(group)
  }

  async #send(row: ImportRow, path: string, body: ImportRow['object']): Promise<void> {
    const idempotencyKey = this.#keyOf(row)
    const { id } = row.object
    const chosen = this.#options.keepIds && typeof id === 'string' ? { chosenId: id } : {}
    const answer = await this.#pipeline.ask({ method: 'POST', path, body, idempotencyKey, ...chosen })
    this.#options.progress.done(1)
    if (answer.status === 201) return this.#written(row, answer)
    this.#ids.settle(row, undefined)
    if (answer.status >= 500) return this.#stop(row.line, answerText(answer))
    const { code } = answer.body ?? {}
    this.#refuse(row, { status: answer.status, code, why: whyRefused(answer) })
  }

  #written(row: ImportRow, answer: PipelineAnswer): void {
    this.#ids.settle(row, createdId(row, answer))
    this.#lines.push(row.line)
    this.#counts[answer.replayed ? 'writtenBefore' : 'written'] += 1
  }

  #refuse({ line, resource }: ImportRow, reason: Omit<RefusedLine, 'line' | 'resource'>): void {
    this.#counts.refused += 1
    if (this.#refusedLines.length < MOST_REFUSED) this.#refusedLines.push({ line, resource: resource.name, ...reason })
  }

  /** The earliest line that isn't written counts. */
  #stop(line: number, why: string): void {
    if (!this.#stopped || line < this.#stopped.line) this.#stopped = { line, why }
  }

  /** The same line of the same file is the same import, so a repeat writes it once. */
  #keyOf({ line, text }: ImportRow): string {
    const { run, keepIds } = this.#options
    return createHash('sha256')
      .update(JSON.stringify([run, keepIds, line, text]))
      .digest('base64url')
  }
}

/** A caller may create objects that the answer doesn't show. */
function createdId({ resource }: ImportRow, { body, location }: PipelineAnswer): string | undefined {
  if (typeof body?.id === 'string') return body.id
  const [before = '', after = ''] = resource.canonicalItemPath?.split('{id}') ?? []
  return location === undefined
    ? undefined
    : decodeURIComponent(location.slice(before.length, location.length - after.length))
}

function whyRefused({ body }: PipelineAnswer): string {
  const faults: readonly { pointer?: string; detail?: string }[] = body?.errors ?? []
  const reasons = faults.slice(0, 3).map(({ pointer, detail }) => `\`${pointer}\` ${detail}`)
  return reasons.length > 0 ? reasons.join(', ') : String(body?.detail ?? body?.title ?? '')
}

// The ids that objects of an import get, and the fields that name them.

/** A row that can't be sent: why, or the resource and id that must be written first. */
type Mapped =
  | { readonly kind: 'body'; readonly body: Representation }
  | { readonly kind: 'unwritten'; readonly why: string }
  | { readonly kind: 'waits' }

class IdMap {
  readonly #lines: Survey['lines']
  /** Resource -> id in the file -> new id. */
  readonly #ids = new Map<string, Map<string, string>>()
  readonly #pending = new Set<string>()

  constructor({ lines }: Survey) {
    this.#lines = lines
    for (const name of lines.keys()) this.#ids.set(name, new Map())
  }

  begin({ resource, object }: ImportRow): void {
    this.#pending.add(keyOf(resource.name, object.id))
  }

  /** `id`: the new one; undefined if the row wasn't written. */
  settle({ resource, object }: ImportRow, id: string | undefined): void {
    this.#pending.delete(keyOf(resource.name, object.id))
    if (id !== undefined && typeof object.id === 'string') this.#ids.get(resource.name)?.set(object.id, id)
  }

  /** The body of the POST: without the server's fields, and with new ids for objects of the file. */
  bodyOf(row: ImportRow, named: readonly NamingField[]): Mapped {
    const body: Record<string, Json> = withoutServerFields(row.resource, row.object)
    for (const { field, to } of named) {
      const value = Object.hasOwn(body, field) ? body[field] : undefined
      if (value === undefined) continue
      const ids = Array.isArray(value) ? value : [value]
      if (ids.some((id) => this.#pending.has(keyOf(to, id)))) return { kind: 'waits' }
      const unwritten = ids.flatMap((id) => this.#lineOfUnwritten(to, id) ?? [])[0]
      if (unwritten !== undefined) return { kind: 'unwritten', why: whyUnwritten(field, unwritten, row.line) }
      const mapped = ids.map((id) => this.#newId(to, id) ?? id)
      body[field] = Array.isArray(value) ? mapped : (mapped[0] ?? null)
    }
    return { kind: 'body', body }
  }

  /** Undefined for an object that isn't in the file: it keeps its id. */
  #lineOfUnwritten(resource: string, id: Json): number | undefined {
    const line = typeof id === 'string' ? this.#lines.get(resource)?.get(id) : undefined
    return this.#newId(resource, id) === undefined ? line : undefined
  }

  #newId(resource: string, id: Json): string | undefined {
    return typeof id === 'string' ? this.#ids.get(resource)?.get(id) : undefined
  }
}

function whyUnwritten(field: string, at: number, line: number): string {
  if (at === line) return `\`${field}\` names the object itself, whose new id is not known yet: remove the value`
  if (at > line) return `\`${field}\` names the object of line ${at}: move that line before this one`
  return `\`${field}\` names the object of line ${at}, which was not written`
}

function withoutServerFields({ fields }: Resource, object: Representation): Record<string, Json> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !fields.get(name)?.readOnly))
}

function keyOf(resource: string, id: Json | undefined): string {
  return JSON.stringify([resource, id ?? null])
}

// Line numbers as ranges: `1-500`, `502`.

function lineRanges(lines: readonly number[]): readonly string[] {
  const ranges: { readonly from: number; to: number }[] = []
  for (const line of lines.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1)
    if (last && line === last.to + 1) last.to = line
    else ranges.push({ from: line, to: line })
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`))
}
