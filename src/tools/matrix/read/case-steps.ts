/**
 * What the steps of a case share, on a server or predicted: names filled in, answers judged, parts saved for later
 * steps.
 */

import { isObject } from '../../../base/is-object.ts'
import { pathOfPointer } from '../../../base/json-pointer.ts'
import { namesText } from '../../../present/quote.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import type { Step, StepExpected } from './cases.ts'

export interface StepAnswer {
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

/** Replaces `{name}` by its value; `write` encodes the value for its surroundings. Throws UnknownName. */
export function fillIn(names: ReadonlyMap<string, Json>, text: string, write: (value: string) => string): string {
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
export function bodyOf(names: ReadonlyMap<string, Json>, { body }: Step): Json | undefined {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
  return body === undefined ? undefined : (JSON.parse(fillIn(names, JSON.stringify(body), inJson)) as Json)
}

/** The difference from the expected answer, in one sentence. `view`: the fields of the expected view. */
export function judgeStep(
  expected: StepExpected,
  answer: StepAnswer,
  view: ReadonlySet<string> | undefined,
): string | undefined {
  if (answer.status !== expected.status) return `expected ${expected.status}, got ${answer.status}`
  const fields = view ?? (expected.fields ? new Set(expected.fields) : undefined)
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
export function rowsFault(
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
export function saveParts(names: Map<string, Json>, { save = {} }: Step, { json }: StepAnswer): string | undefined {
  for (const [name, pointer] of Object.entries(save)) {
    const value = pointedAt(json, pointer)
    if (value === undefined) return `the answer has nothing at \`${pointer}\` to save as \`${name}\``
    names.set(name, value)
  }
  return undefined
}
