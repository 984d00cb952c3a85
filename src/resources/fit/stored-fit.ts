/**
 * Whether the stored objects of a resource fit another version of its schema. It never says that they fit if one that
 * fits the old schema may not; an example of a misfit has been checked with the real validators of both.
 */
import { isObject } from '../../base/is-object.ts'
import { pointerOfPath } from '../../base/json-pointer.ts'
import type { FieldFault } from '../../base/problems/problem.ts'
import type { Json, Representation, Resource } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { gapsBetween, valueAtPath } from './gaps.ts'
import { Budget, type RootedSchema, TooLarge } from './parts.ts'
import { take } from './samples.ts'
import type { Gap } from './value-gaps.ts'

/** `unknown`: only a look at the objects tells (`sallyport data check`). */
export type FitVerdict = 'fits' | 'may not fit' | 'unknown'

export interface FitReason {
  readonly code: FitCode
  readonly verdict: Exclude<FitVerdict, 'fits'>
  /** The field of the resource; empty if the reason is about the object as a whole. */
  readonly field: string
  /** From the object to the faulty value; `*` for any item, and for any member without a declared name. */
  readonly path: readonly string[]
  /** The keyword of the new schema that objects may break. */
  readonly keyword: string
  /** What the new schema says: a predicate without its subject, like `is required`. */
  readonly message: string
  /** A whole object that fits the old schema and not the new one. For `unique-added`, two of them would. */
  readonly example?: Representation
  /** The faulty value in the example; undefined for a missing one. */
  readonly value?: Json
  /** The values of an old `enum` that the new schema doesn't accept. */
  readonly lost?: readonly Json[]
  /** A field that is newly required and has a default: the next write of an object sets it. */
  readonly default?: Json
}

export interface StoredFit {
  readonly verdict: FitVerdict
  /** Empty if the objects fit. */
  readonly reasons: readonly FitReason[]
}

/** Pure. Undefined for a schema that there is not. Objects of `old` must fit it. */
export function storedFit(old: Resource | undefined, next: Resource | undefined): StoredFit {
  if (old === undefined) return fitOf([])
  if (next === undefined) return fitOf([REMOVED])
  const budget = new Budget()
  try {
    const gaps = gapsBetween(storedIn(old), { root: next.schema, schema: next.schema }, budget)
    const reasons = gaps.map((gap) => reasonFor(gap, old, next))
    return fitOf([...reasons, ...newlyAboutOthers(old, next, budget)])
  } catch (error) {
    if (error instanceof TooLarge) return fitOf([TOO_LARGE])
    throw error
  }
}

const WHOLE = { field: '', path: [] as readonly string[] } as const
const REMOVED: FitReason = {
  ...WHOLE,
  code: 'resource-removed',
  verdict: 'may not fit',
  keyword: 'x-resource',
  message: 'has no schema any more: its objects stay in the database, and no request reaches them',
}
const TOO_LARGE: FitReason = {
  ...WHOLE,
  code: 'too-large',
  verdict: 'unknown',
  keyword: '$ref',
  message: 'has schemas that are too large to compare',
}

function fitOf(reasons: readonly FitReason[]): StoredFit {
  const verdict = (['may not fit', 'unknown'] as const).find((one) => reasons.some((reason) => reason.verdict === one))
  return { verdict: verdict ?? 'fits', reasons }
}

/** RFC 3339 in UTC with milliseconds, whatever the schema says: the server writes it. */
const SERVER_TIME: JsonObject = { type: 'string', format: 'date-time', minLength: 24, maxLength: 24 }
const SERVER_FIELDS: JsonObject = {
  type: 'object',
  properties: { id: { type: 'string' }, createdAt: SERVER_TIME, updatedAt: SERVER_TIME },
  required: ['id', 'createdAt', 'updatedAt'],
}

/** The schemas that all hold for stored objects, and for the representations that answers show. */
export function storedIn({ schema }: Resource): readonly RootedSchema[] {
  return [
    { root: schema, schema },
    { root: SERVER_FIELDS, schema: SERVER_FIELDS },
  ]
}

function reasonFor(gap: Gap, old: Resource, next: Resource): FitReason {
  const { path, keyword, lost } = gap
  const [field = ''] = path
  const given = next.fields.get(field)?.default
  const about = {
    code: codeOf(gap),
    field,
    path,
    keyword,
    ...(lost === undefined ? {} : { lost }),
    ...(keyword === 'required' && path.length === 1 && given !== undefined ? { default: given } : {}),
  }
  const misfit = misfitOf(gap, old, next)
  if (misfit === undefined) return { ...about, verdict: 'unknown', message: `has another \`${keyword}\`` }
  const { fault, example, value } = misfit
  return { ...about, verdict: 'may not fit', message: fault.detail, example, ...(value === undefined ? {} : { value }) }
}

function codeOf({ path, keyword }: Gap): FitCode {
  if (keyword === 'additionalProperties' && path.at(-1) === '*') return 'fields-closed'
  return CODE_OF_KEYWORD[keyword] ?? 'rule-changed'
}

interface Misfit {
  readonly example: Representation
  readonly value: Json | undefined
  readonly fault: FieldFault
}

/** The real validators decide: the old one takes the example, and the new one refuses it at the gap's place. */
function misfitOf({ examples }: Gap, old: Resource, next: Resource): Misfit | undefined {
  for (const { value, at } of examples) {
    if (!isObject(value)) continue
    const example = value as Representation
    const pointer = pointerOfPath(at)
    const fault = next.validate(example).find((one) => `${one.pointer}/`.startsWith(`${pointer}/`))
    if (fault && old.validate(example).length === 0) return { example, fault, value: valueAtPath(example, at) }
  }
  return undefined
}

/** What the values of one object never break by themselves: other objects have the same, or are not there. */
function newlyAboutOthers(old: Resource, next: Resource, budget: Budget): readonly FitReason[] {
  return rulesAboutOthers(old, next).flatMap(({ required, ...reason }): readonly FitReason[] => {
    const having = { type: 'object', required: [...required] }
    const found = take([...storedIn(old), { root: {}, schema: having }], 1, { budget, depth: 0 })
    if (found.complete && found.values.length === 0) return []
    const example = found.values.find((value) => isObject(value) && old.validate(value as Representation).length === 0)
    const [field = ''] = required
    const about = { ...reason, field, path: [field] } as const
    if (example === undefined) return [{ ...about, verdict: 'unknown' }]
    return [{ ...about, verdict: 'may not fit', example: example as Representation }]
  })
}

interface RuleAboutOthers extends Pick<FitReason, 'code' | 'keyword' | 'message'> {
  /** It is about objects that have all of these fields. */
  readonly required: readonly string[]
}

/** Those that the old schema doesn't have. */
function rulesAboutOthers(old: Resource, next: Resource): readonly RuleAboutOthers[] {
  const fields = [...next.fields.values()].map((field) => ({ ...field, before: old.fields.get(field.name) }))
  const alone = fields.filter(({ unique, before }) => unique && before?.unique !== true)
  const before = (old.uniqueTogether ?? []).map(sortedText)
  const together = (next.uniqueTogether ?? []).filter((names) => !before.includes(sortedText(names)))
  const message = 'must have another value in each object'
  return [
    ...alone.map(({ name }) => ({ code: 'unique-added', keyword: 'x-unique', message, required: [name] }) as const),
    ...together.map((required) => ({ code: 'unique-added', keyword: 'x-unique', message, required }) as const),
    ...fields.flatMap(({ name, reference, before: was }): readonly RuleAboutOthers[] => {
      if (!reference || was?.reference?.resource === reference.resource) return []
      const names = `must name an object of \`${reference.resource}\``
      return [{ code: 'reference-added', keyword: 'x-reference', message: names, required: [name] }]
    }),
  ]
}

function sortedText(names: readonly string[]): string {
  return names.toSorted().join()
}

// Why stored objects may not fit: stable codes, by the keyword of the new schema.

export type FitCode =
  | 'resource-removed'
  | 'field-removed'
  | 'field-required'
  | 'fields-closed'
  | 'type-narrowed'
  | 'values-narrowed'
  | 'bounds-narrowed'
  | 'pattern-changed'
  | 'format-changed'
  | 'items-distinct'
  | 'rule-changed'
  | 'unique-added'
  | 'reference-added'
  | 'too-large'

const BOUNDS = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
]

/** Other keywords give `rule-changed`. */
const CODE_OF_KEYWORD: Readonly<Record<string, FitCode>> = {
  ...Object.fromEntries(BOUNDS.map((keyword) => [keyword, 'bounds-narrowed' as const])),
  additionalProperties: 'field-removed',
  'false schema': 'type-narrowed',
  required: 'field-required',
  type: 'type-narrowed',
  enum: 'values-narrowed',
  const: 'values-narrowed',
  pattern: 'pattern-changed',
  format: 'format-changed',
  uniqueItems: 'items-distinct',
}
