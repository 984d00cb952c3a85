/** Which values clients may send that are refused now, and which they may read that they could not meet before. */

import { isObject } from '../../../base/is-object.ts'
import { pointerOfPath } from '../../../base/json-pointer.ts'
import { listed, type Phrase, say } from '../../../present/phrase.ts'
import { count } from '../../../present/text.ts'
import { gapsBetween, sureExample, valueAtPath } from '../../../resources/fit/gaps.ts'
import { Budget, type RootedSchema, TooLarge } from '../../../resources/fit/parts.ts'
import { storedIn } from '../../../resources/fit/stored-fit.ts'
import type { Gap } from '../../../resources/fit/value-gaps.ts'
import type { Json, Resource } from '../../../resources/resource.ts'
import type { JsonObject } from '../../../resources/schema/schema-file.ts'
import { allSubschemas } from '../../../resources/schema/subschemas.ts'
import type { Unplaced } from './schema-change.ts'

/** The fields that the policy fills on a create, so that clients needn't send them. */
export type Filled = (resource: Resource) => ReadonlySet<string>

export interface Filling {
  readonly before: Filled
  readonly after: Filled
}

export function compareValues(old: Resource, next: Resource, filled: Filling): readonly Unplaced[] {
  const sends = has(old, 'POST', 'PUT', 'PATCH') && has(next, 'POST', 'PUT', 'PATCH')
  const reads = has(old, 'GET') && has(next, 'GET')
  return [...(sends ? sendChanges(old, next, filled) : []), ...(reads ? readChanges(old, next) : [])]
}

function has({ routes }: Resource, ...methods: readonly string[]): boolean {
  return routes.some(
    ({ endpoints, redirect }) => !redirect && [...endpoints.keys()].some((one) => methods.includes(one)),
  )
}

function sendChanges(old: Resource, next: Resource, { before, after }: Filling): readonly Unplaced[] {
  const [was, is] = [bodyOf(old, before(old)), bodyOf(next, after(next))]
  // Removed fields, and fields that became read-only, are reported already.
  const isReported = ({ path, keyword }: Gap) => path.length === 1 && keyword === 'additionalProperties'
  return compared([was], is, isReported, {
    required: (place) => ['send-required', say`clients must send ${place}`],
    refused: (place) => ['send-refused', say`clients may send ${place}, which is no longer accepted`],
    value: (place, values) => [
      'send-narrowed',
      say`clients may send ${values} as ${place}, which is no longer accepted`,
    ],
    unknown: (place, keyword) => [
      'send-narrowed',
      say`clients may send a ${place} that is no longer accepted: its ${keyword} changed`,
    ],
  })
}

function readChanges(old: Resource, next: Resource): readonly Unplaced[] {
  const schema = opened(old.schema)
  const isReported = ({ path, keyword }: Gap) =>
    path.length === 1 && keyword === 'required' && !next.fields.has(path[0] ?? '')
  return compared(storedIn(next), { root: schema, schema }, isReported, {
    required: (place) => ['read-optional', say`answers may lack ${place}`],
    refused: (place) => ['read-widened', say`answers may have ${place}`],
    value: (place, values) => [
      'read-widened',
      say`answers may have ${values} as ${place}, which clients could not meet before`,
    ],
    unknown: (place, keyword) => [
      'read-widened',
      say`answers may have a ${place} that clients could not meet before: its ${keyword} changed`,
    ],
  })
}

type CodedSentence = readonly [code: string, sentence: Phrase]

interface GapSentences {
  required(place: Phrase): CodedSentence
  refused(place: Phrase): CodedSentence
  value(place: Phrase, values: Phrase): CodedSentence
  unknown(place: Phrase, keyword: string): CodedSentence
}

function compared(
  old: readonly RootedSchema[],
  next: RootedSchema,
  isReported: (gap: Gap) => boolean,
  sentences: GapSentences,
): readonly Unplaced[] {
  try {
    const gaps = gapsBetween(old, next, new Budget()).filter((gap) => !isReported(gap))
    return gaps.map((gap) => changeOf(gap, old, { next, sentences }))
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    const [code, sentence] = sentences.unknown(placeText([]), '$ref')
    return [{ code, sentence, effect: 'unknown', path: [] }]
  }
}

function changeOf(
  gap: Gap,
  old: readonly RootedSchema[],
  { next, sentences }: { readonly next: RootedSchema; readonly sentences: GapSentences },
): Unplaced {
  const { path, keyword, lost } = gap
  const place = placeText(path)
  const example = sureExample(gap, old, next)
  const value = example && valueAtPath(example.value, example.at)
  const codedSentence = () => {
    if (keyword === 'required') return sentences.required(place)
    if (keyword === 'additionalProperties') return sentences.refused(place)
    return value === undefined ? sentences.unknown(place, keyword) : sentences.value(place, valuesText(lost ?? [value]))
  }
  const [code, sentence] = codedSentence()
  return {
    code,
    sentence,
    path,
    effect: example ? 'breaking' : 'unknown',
    ...(value === undefined ? {} : { example: value }),
  }
}

/** The body of a create: no field of the server, and nothing required that has a default or that the policy fills. */
function bodyOf({ schema, fields }: Resource, filled: ReadonlySet<string>): RootedSchema {
  const writable = Object.entries((schema.properties ?? {}) as JsonObject).filter(
    ([name]) => !fields.get(name)?.readOnly,
  )
  const names = new Set(writable.map(([name]) => name))
  const required = ((schema.required ?? []) as readonly string[]).filter(
    (name) => names.has(name) && !filled.has(name) && fields.get(name)?.default === undefined,
  )
  return { root: schema, schema: { ...schema, properties: Object.fromEntries(writable), required } }
}

/** Clients must expect new members, so a closed object is open to its readers. */
function opened(schema: JsonObject): JsonObject {
  const schemas = new Set<unknown>(allSubschemas(schema).map((one) => one.schema))
  const open = (json: Json): Json => {
    if (Array.isArray(json)) return json.map((one: Json) => open(one))
    if (!isObject(json)) return json
    const isSchema = schemas.has(json)
    const kept = Object.entries(json as JsonObject).filter(
      ([keyword, value]) =>
        !(isSchema && value === false && (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties')),
    )
    return Object.fromEntries(kept.map(([key, value]) => [key, open(value)]))
  }
  return open(schema) as JsonObject
}

// Places and values in the sentences of a schema diff.

/** A JSON Pointer from an object, or the object itself. */
export function placeText(path: readonly string[]): Phrase {
  return path.length === 0 ? say`object` : say`${pointerOfPath(path)}`
}

const MOST_VALUES = 5
const MOST_CHARACTERS = 60

/** `"a", "b" or "c"`. */
export function valuesText(values: readonly Json[]): Phrase {
  const shown = values.slice(0, MOST_VALUES).map(valueText)
  const more = values.length - shown.length
  return listed([...shown, ...(more > 0 ? [say`${count(more, 'other')}`] : [])], say` or `)
}

/** As JSON, a text without quotes unless it looks like another value; a long value by its size. */
function valueText(value: Json): Phrase {
  const isWord = typeof value === 'string' && /^\p{L}/u.test(value) && !/^(?:true|false|null)$/.test(value)
  const json = isWord ? value : JSON.stringify(value)
  if (json.length <= MOST_CHARACTERS) return say`${json}`
  if (typeof value === 'string') return say`a text of ${count([...value].length, 'character')}`
  return Array.isArray(value) ? say`a list of ${count(value.length, 'item')}` : say`such an object`
}
