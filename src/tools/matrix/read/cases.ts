/**
 * Reads the YAML files of cases. Strict: reports all faults at once, each with its place. And what the steps of a case
 * share, on a server or predicted: names filled in, answers judged, parts saved for later steps.
 */
import { readFileSync } from 'node:fs'
import { type Diagnostic, type Place, refuseFaults } from '../../../base/diagnostic.ts'
import { isObject } from '../../../base/is-object.ts'
import { pathOfPointer } from '../../../base/json-pointer.ts'
import { shapeOf } from '../../../base/shape-of.ts'
import { parseYaml, type Shape, type YamlFile } from '../../../base/yaml-file.ts'
import { namesText } from '../../../present/quote.ts'
import type { Json, Method, Representation } from '../../../resources/resource.ts'
import type { KnownColumn } from './expectation.ts'
import { type ReadMatrixSource, readSource } from './read-matrices.ts'
import { parseColumn } from './words.ts'

interface WrittenCase {
  readonly name: string
  readonly callers?: Readonly<Record<string, string>>
  readonly steps: readonly CaseStep[]
}

/** Compiled when the first case is read. */
let shape: Shape<readonly WrittenCase[]> | undefined

/** In the order of files. Throws FileError. */
export async function readCases(
  files: readonly string[],
  read: ReadMatrixSource = readSource,
): Promise<readonly Case[]> {
  return refuseFaults(async (report) => {
    const sources = await Promise.all(files.map((file) => read(file, report)))
    return sources.flatMap((source) => {
      const parsed = source && parseYaml(source, caseShape(), report)
      return parsed ? parsed.value.map((written, i) => caseOf(parsed, written, i, report)) : []
    })
  })
}

// docs/ is beside src/ in a checkout, and beside dist/ in the package.
function caseShape(): Shape<readonly WrittenCase[]> {
  const file = new URL('../../../../docs/schemas/matrix-case.schema.json', import.meta.url)
  shape ??= shapeOf<readonly WrittenCase[]>(JSON.parse(readFileSync(file, 'utf8')))
  return shape
}

function caseOf(
  file: YamlFile<readonly WrittenCase[]>,
  { name, callers = {}, steps }: WrittenCase,
  at: number,
  report: (diagnostic: Diagnostic) => void,
): Case {
  const known = Object.entries(callers).flatMap(([caller, text]): [string, KnownColumn][] => {
    const column = parseColumn(text)
    if (column.kind === 'parsed' && column.value.kind !== 'anonymous') return [[caller, column.value]]
    const hint = 'write a role, roles as in member+auditor, everyone, or user:<id>'
    report(file.fault([at, 'callers', caller], 'case-caller', `\`${text}\` is not a caller with credentials`, hint))
    return []
  })
  steps.forEach((step, i) => {
    if (step.as === 'anonymous' || Object.hasOwn(callers, step.as)) return
    const hint = 'name it in callers, or write anonymous'
    report(file.fault([at, 'steps', i, 'as'], 'case-caller', `the case has no caller \`${step.as}\``, hint))
  })
  const { file: path, line, column } = file.fault([at, 'name'], '', '')
  return { name, place: { file: path, line, column }, callers: new Map(known), steps }
}

interface StepExpected {
  readonly status: number
  readonly view?: string
  readonly fields?: readonly string[]
  /** The ids of the objects in a list; of those that steps of the case created, it has no others. */
  readonly rows?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

interface CaseStep {
  /** A name of the case's callers, or `anonymous`. */
  readonly as: string
  readonly method: Method
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Json
  readonly expect: StepExpected
  /** JSON Pointers (RFC 6901) into the answer, by the name that later steps use. */
  readonly save?: Readonly<Record<string, string>>
}

export interface Case {
  readonly name: string
  readonly place: Place
  readonly callers: ReadonlyMap<string, KnownColumn>
  readonly steps: readonly CaseStep[]
}

interface StepAnswer {
  readonly status: number
  readonly json: Json | undefined
  /** Names in lower case; undefined where headers aren't judged. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A step uses a name that no step before it saved. */
export class UnknownName extends Error {
  constructor(name: string) {
    super(`\`${name}\` is neither a caller nor saved by an earlier step: add it to callers or to save`)
    this.name = 'UnknownName'
  }
}

/** A step with its names filled in. */
export interface FilledStep<C> {
  readonly step: CaseStep
  /** Percent-encoded. */
  readonly path: string
  readonly body: Json | undefined
  readonly caller: C | undefined
  /** The ids of the objects that earlier steps created. */
  readonly created: ReadonlySet<string>
}

/** Of a list, with the rows of all pages. */
export interface AnsweredStep extends StepAnswer {
  /** The ids of the objects that the step created. */
  readonly made: readonly string[]
  /** The fields of the expected view, if there is one. */
  readonly view: ReadonlySet<string> | undefined
}

/**
 * Carries out the steps of a case, on a server or predicted, until one isn't answered as expected: why, in one sentence.
 * Throws UnknownName, and what `ask` throws.
 */
export async function walkSteps<C extends { readonly id: string }>(
  { steps }: Case,
  callers: ReadonlyMap<string, C | undefined>,
  ask: (filled: FilledStep<C>) => Promise<AnsweredStep>,
): Promise<string | undefined> {
  const names = new Map([...callers].map(([name, caller]): [string, Json] => [name, caller?.id ?? '']))
  const created = new Set<string>()
  for (const [i, step] of steps.entries()) {
    const path = fillIn(names, step.path, encodeURIComponent)
    const answer = await ask({ step, path, body: bodyOf(names, step), caller: callers.get(step.as), created })
    for (const id of answer.made) created.add(id)
    const fault = judgeStep(step.expect, answer) ?? rowsFault(names, step.expect, answer, created)
    const why = fault ?? saveParts(names, step, answer)
    if (why !== undefined) return `step ${i + 1} (${step.method} ${step.path} as ${step.as}): ${why}`
  }
  return undefined
}

/** Replaces `{name}` by its value; `write` encodes the value for its surroundings. Throws UnknownName. */
function fillIn(names: ReadonlyMap<string, Json>, text: string, write: (value: string) => string): string {
  return text.replace(/\{([A-Za-z][A-Za-z0-9_-]*)\}/g, (_, name: string) => {
    const value = names.get(name)
    if (value === undefined) throw new UnknownName(name)
    return write(typeof value === 'string' ? value : JSON.stringify(value))
  })
}

/** RFC 6901; undefined where there is nothing. */
function pointedAt(json: Json | undefined, pointer: string): Json | undefined {
  return pathOfPointer(pointer).reduce<Json | undefined>((value, key) => {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    return inside ? (value as Readonly<Record<string, Json>>)[key] : undefined
  }, json)
}

/** The body of a step, with the names filled in. Throws UnknownName. */
function bodyOf(names: ReadonlyMap<string, Json>, { body }: CaseStep): Json | undefined {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
  return body === undefined ? undefined : (JSON.parse(fillIn(names, JSON.stringify(body), inJson)) as Json)
}

/** The difference from the expected answer, in one sentence. */
function judgeStep(expected: StepExpected, answer: AnsweredStep): string | undefined {
  if (answer.status !== expected.status) return `expected ${expected.status}, got ${answer.status}`
  if (expected.view !== undefined && !answer.view) return `there is no view \`${expected.view}\``
  const fields = answer.view ?? (expected.fields ? new Set(expected.fields) : undefined)
  return headerFault(expected, answer) ?? (fields ? fieldFault(fields, answer) : undefined)
}

function headerFault({ headers = {} }: StepExpected, answer: StepAnswer): string | undefined {
  if (!answer.headers) return undefined
  for (const [name, wanted] of Object.entries(headers)) {
    const found = answer.headers[name.toLowerCase()]
    if (found === undefined) return `the answer has no header \`${name}\``
    if (!fits(wanted, found)) return `the header \`${name}\` is \`${found}\`, not \`${wanted}\``
  }
  return undefined
}

function fits(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text)
}

/** In a list each row must show these fields; a list without rows shows no field. */
function fieldFault(fields: ReadonlySet<string>, { json }: StepAnswer): string | undefined {
  if (!isObject(json)) return 'the answer shows no object'
  const { items } = json
  const rows = (Array.isArray(items) ? items : [json]) as readonly Representation[]
  if (rows.length === 0) return 'the list has no rows, so no field is shown'
  const wrong = rows.find((row) => new Set(Object.keys(row)).symmetricDifference(fields).size > 0)
  if (!wrong) return undefined
  return `expected the fields ${namesText(fields)}, got ${namesText(Object.keys(wrong)) || 'none'}`
}

/**
 * The difference between the rows of a list and those that the step names, in one sentence. `created`: the ids of the
 * objects that steps of the case created; other rows don't count. Throws UnknownName.
 */
function rowsFault(
  names: ReadonlyMap<string, Json>,
  { rows }: StepExpected,
  { json }: StepAnswer,
  created: ReadonlySet<string>,
): string | undefined {
  if (!rows) return undefined
  const items = isObject(json) ? json.items : undefined
  if (!Array.isArray(items)) return 'the answer is not a list'
  if (items.some((item) => !isObject(item) || !Object.hasOwn(item, 'id')))
    return "a row of the list shows no `id`, so its objects can't be identified"
  if (created.size === 0) return 'no step before it created an object, so no row can be missing or too many'
  const wanted = new Map(rows.map((row) => [fillIn(names, row, (id) => id), row]))
  const listed = new Set(items.map((item) => String(isObject(item) ? item.id : '')))
  const missing = [...wanted].filter(([id]) => !listed.has(id)).map(([, row]) => row)
  if (missing.length > 0) return `the list lacks ${namesText(missing)}`
  const more = [...listed].filter((id) => created.has(id) && !wanted.has(id))
  return more.length > 0 ? `the list also shows ${namesText(more.map((id) => nameOf(names, id)))}` : undefined
}

function nameOf(names: ReadonlyMap<string, Json>, id: string): string {
  const name = [...names].find(([, value]) => value === id)?.[0]
  return name === undefined ? id : `{${name}}`
}

/** Saves the parts of an answer that later steps name; returns what the answer lacks, in one sentence. */
function saveParts(names: Map<string, Json>, { save = {} }: CaseStep, { json }: StepAnswer): string | undefined {
  for (const [name, pointer] of Object.entries(save)) {
    const value = pointedAt(json, pointer)
    if (value === undefined) return `the answer has nothing at \`${pointer}\` to save as \`${name}\``
    names.set(name, value)
  }
  return undefined
}
