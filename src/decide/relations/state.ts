/** A field has one of several constant values: `{ field: status, in: [draft, placed] }`. */
import { listed, say } from '../../present/phrase.ts'
import { quote } from '../../present/quote.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Field, FieldType, Resource } from '../../resources/resource.ts'
import { has } from '../condition.ts'
import { comparedField, exactly, fieldText, isTold } from './compared-field.ts'
import type { RelationKind } from './relation-kind.ts'

export interface StateRelation {
  readonly kind: 'state'
  readonly name: string
  readonly field: string
  readonly values: readonly Scalar[]
}

interface Form {
  readonly field: string
  readonly in: readonly Scalar[]
}

export const state: RelationKind<StateRelation, Form> = {
  isForm: (form): form is Form => typeof form === 'object' && form !== null && 'in' in form,
  parse(name, { field: named, in: values }, declaration) {
    const field = comparedField(named, declaration)
    if (!field) return undefined
    const faults = values.map((value) => whyImpossible(value, field, declaration.resource))
    for (const [i, why] of faults.entries()) if (why) declaration.fault(['in', i], 'constant-type', why)
    return faults.some(Boolean) ? undefined : { kind: 'state', name, field: named, values }
  },

  fields: ({ field }) => [field],
  attributes: () => [],
  accepted: ({ field, values }) => exactly(field, values),

  onResultOfWrite: 'stored',
  holds: ({ field, values }, _, object) => values.some((value) => has(object, field, value)),
  condition: ({ field, values }) => ({ kind: 'holds', field, values }),
  couldHold: () => true,

  describe: ({ field, values }) => `${field} is ${orList(values)}`,
  define: ({ field, values }) => say`${field} in ${listed(values.map(String), say` or `)}`,
  explain(relation, { object }) {
    const { field, values } = relation
    if (!isTold(object, field)) return { holds: null, why: `it holds if ${state.describe(relation)}` }
    const found = fieldText(object.fields, field)
    return values.some((value) => has(object.fields, field, value))
      ? { holds: true, why: found }
      : { holds: false, why: `${found}, not ${orList(values)}` }
  },

  meaning: ({ field, values }) =>
    JSON.stringify([field, 'in', ...new Set(values.map((value) => JSON.stringify(value)).sort())]),
  reach(before, after) {
    if (before.field !== after.field) return undefined
    if (before.values.every((value) => after.values.includes(value))) return 'more'
    return after.values.every((value) => before.values.includes(value)) ? 'fewer' : undefined
  },
  /** One constant removed, added or replaced; or all constants, as if the predicate were dropped. */
  mistakes({ field, values }, _, valuesOf) {
    const others = valuesOf(field).filter((value) => !values.includes(value))
    const fewer = values.length < 2 ? [] : values.map((left) => values.filter((value) => value !== left))
    const more = others.map((value) => [...values, value])
    const swapped = values.flatMap((left) => others.map((value) => values.map((one) => (one === left ? value : one))))
    const all = others.length > 1 ? [[...values, ...others]] : []
    return [...fewer, ...more, ...swapped, ...all].map((constants) => ({ field, in: constants }))
  },
}

/** A constant that no object can have would make a relation that never holds, and a deny by it that denies nothing. */
function whyImpossible(value: Scalar, field: Field, resource: Resource): string | undefined {
  const never = `\`${value}\` can never be the value of \`${field.name}\``
  if (!fitsType(value, field)) return `${never}, whose type is ${field.type}`
  const place = field.list ? `/${field.name}/` : `/${field.name}`
  const faults = resource.validate({ [field.name]: field.list ? [value] : value })
  const first = faults.find(({ pointer }) => (field.list ? pointer.startsWith(place) : pointer === place))
  return first && `${never}, which ${first.detail}`
}

function fitsType(value: Scalar, { type }: Field): boolean {
  const accepts: Readonly<Record<FieldType, boolean>> = {
    string: typeof value === 'string',
    integer: Number.isInteger(value),
    number: typeof value === 'number',
    boolean: typeof value === 'boolean',
    other: false,
  }
  return accepts[type]
}

function orList(values: readonly Scalar[]): string {
  return values.map(quote).join(' or ')
}
