/**
 * What a JSON Schema finds wrong with a file: of all errors the ones that are reported, one for each fault, in plain
 * words.
 */
import type { ErrorObject } from 'ajv'
import { didYouMean, nearestName, oneOf } from '../did-you-mean.ts'
import { isObject } from '../is-object.ts'
import { pathOfPointer } from '../json-pointer.ts'

const HINTS: ReadonlyMap<string, string> = new Map([
  ['required', 'add it'],
  ['dependentRequired', 'add it'],
  ['not', 'choose another name'],
])

export function shapeHint(error: ErrorObject): string | undefined {
  if (error.keyword !== 'additionalProperties') return HINTS.get(error.keyword)
  const { title } = error.parentSchema ?? {}
  const [name, known] = [String(error.params.additionalProperty), knownKeys(error)]
  // Of a choice, the title says which forms there are.
  return title?.includes('{') ? `write ${title}${didYouMean(name, known)}` : oneOf(name, known)
}

export function shapeSentence(error: ErrorObject): string {
  const { keyword, params, data, propertyName } = error
  if (keyword === 'additionalProperties') return `\`${params.additionalProperty}\` is not known here`
  if (keyword === 'required') return `\`${params.missingProperty}\` is missing`
  if (keyword === 'dependentRequired') {
    return `\`${params.missingProperty}\` is missing, and \`${params.property}\` needs it`
  }
  if (keyword === 'not') return `\`${propertyName ?? data}\` is a reserved name`
  return `${subjectOf(error)} ${predicateOf(error)}`
}

function subjectOf({ instancePath, propertyName }: ErrorObject): string {
  if (propertyName !== undefined) return propertyName === '' ? 'a name' : `the name \`${propertyName}\``
  const [last, parent] = pathOfPointer(instancePath).toReversed()
  const named = (name: string | undefined) => (name === undefined ? 'the file' : `\`${name}\``)
  return last !== undefined && /^\d+$/.test(last) ? `an element of ${named(parent)}` : named(last)
}

function predicateOf({ keyword, params, message, parentSchema }: ErrorObject): string {
  const { limit } = params
  switch (keyword) {
    case 'oneOf':
      return `must be ${parentSchema?.title}`
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).map(quoted).join(', ')}`
    case 'const':
      return `must be ${quoted(params.allowedValue)}`
    case 'type':
      return `must be ${[params.type].flat().map(kindNamed).join(' or ')}`
    case 'pattern':
      return parentSchema?.title ? `must be ${parentSchema.title}` : 'does not have the form of such a value'
    case 'minimum':
    case 'maximum':
      return `must be at ${keyword === 'minimum' ? 'least' : 'most'} ${limit}`
    case 'uniqueItems':
      return 'must not name an element twice'
    case 'minProperties':
    case 'minItems':
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} ${COUNTED[keyword]}`
    case 'maxProperties':
    case 'maxItems':
    case 'maxLength':
      return limit === 1 ? `must not have two ${COUNTED[keyword]}` : `must have at most ${limit} ${COUNTED[keyword]}`
    default:
      return message ?? `breaks \`${keyword}\``
  }
}

const COUNTED = {
  minProperties: 'members',
  maxProperties: 'members',
  minItems: 'elements',
  maxItems: 'elements',
  minLength: 'characters',
  maxLength: 'characters',
}

const KINDS: ReadonlyMap<unknown, string> = new Map([
  ['object', 'a mapping (`name: value`)'],
  ['array', 'a list'],
  ['string', 'a text'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['boolean', '`true` or `false`'],
  ['null', '`null`'],
])

function kindNamed(type: unknown): string {
  return KINDS.get(type) ?? String(type)
}

function quoted(value: unknown): string {
  return `\`${value}\``
}

/** Errors that only repeat another one. */
const ECHOES: ReadonlySet<string> = new Set(['propertyNames', 'if'])

/** The errors must hold their schemas and data (`verbose` of Ajv). */
export function reportable(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choices = errors.filter(({ keyword }) => keyword === 'oneOf')
  const inner = errors.filter(({ keyword }) => keyword !== 'oneOf' && !ECHOES.has(keyword))
  const outside = inner.filter((error) => !choices.some((choice) => isIn(error, choice)))
  const chosen = choices.flatMap((choice) => faultsOfChoice(choice, inner))
  return withoutConsequences([...outside, ...chosen])
}

function isIn({ instancePath }: ErrorObject, choice: ErrorObject): boolean {
  return instancePath === choice.instancePath || instancePath.startsWith(`${choice.instancePath}/`)
}

/** Reports unknown keys first, then the faults of the only case that has all keys, else that no case fits. */
function faultsOfChoice(choice: ErrorObject, errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const { data, parentSchema = {} } = choice
  const cases = (choice.schema as readonly object[]).map((schema) => ({ schema, keys: keysOf(schema) }))
  if (!isObject(data)) return [choice]
  const written = Object.keys(data)
  const known = new Set([...cases.flatMap(({ keys }) => keys), ...keysOf(parentSchema)])
  const unknown = written.filter((key) => !known.has(key))
  if (unknown.length > 0) return unknown.map((key) => unknownKey(choice, key, [...known]))
  const [meant, ...others] = cases.filter(({ keys }) => written.every((key) => keys.includes(key)))
  if (!meant || others.length > 0) return [choice]
  const elsewhere = new Set(cases.flatMap(({ schema }) => (schema === meant.schema ? [] : [...partsOf(schema)])))
  const own = errors.filter((error) => isIn(error, choice) && !elsewhere.has(error.parentSchema))
  return own.length > 0 ? own : [choice]
}

/** The title of a choice says which cases there are. */
function unknownKey({ instancePath, schemaPath, parentSchema }: ErrorObject, key: string, known: readonly string[]) {
  const schema = { title: parentSchema?.title, properties: Object.fromEntries(known.map((name) => [name, true])) }
  const params = { additionalProperty: key }
  return { keyword: 'additionalProperties', instancePath, schemaPath, params, parentSchema: schema }
}

/** A missing key that stands there under another name is no fault of its own. */
function withoutConsequences(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const byPlace = Map.groupBy(errors, ({ instancePath }) => instancePath)
  return errors.filter((error) => {
    return error.keyword !== 'required' || !standsThere(error, byPlace.get(error.instancePath) ?? [])
  })
}

/** An unknown key is like the missing one, or there is an unknown key, like no other one, for each missing one. */
function standsThere(missing: ErrorObject, beside: readonly ErrorObject[]): boolean {
  const lacking = beside.filter(({ keyword }) => keyword === 'required').map(missingKey)
  const meant = beside.flatMap((error) => (error.keyword === 'additionalProperties' ? [meantKey(error)] : []))
  if (meant.includes(missingKey(missing))) return true
  return meant.filter((key) => key === undefined || lacking.includes(key)).length >= lacking.length
}

function missingKey({ params }: ErrorObject): string {
  return params.missingProperty as string
}

/** The keys that may stand where an unknown one does. */
export function knownKeys({ parentSchema }: ErrorObject): readonly string[] {
  return keysOf(parentSchema ?? {})
}

function meantKey(error: ErrorObject): string | undefined {
  return nearestName(String(error.params.additionalProperty), knownKeys(error))
}

function keysOf(schema: object): readonly string[] {
  return 'properties' in schema && isObject(schema.properties) ? Object.keys(schema.properties) : []
}

/** A schema and all schemas in it. */
function partsOf(schema: unknown): ReadonlySet<unknown> {
  const parts = new Set<unknown>([schema])
  for (const part of parts) {
    if (typeof part !== 'object' || part === null) continue
    for (const inner of Object.values(part)) parts.add(inner)
  }
  return parts
}
