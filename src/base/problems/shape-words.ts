/** What a JSON Schema finds wrong with a file, in plain words. */
import type { ErrorObject } from 'ajv'
import { didYouMean, oneOf } from '../did-you-mean.ts'
import { pathOfPointer } from '../json-pointer.ts'
import { knownKeys } from './shape-faults.ts'

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
  if (last === undefined) return 'the file'
  return /^\d+$/.test(last) ? `an element of \`${parent}\`` : `\`${last}\``
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
