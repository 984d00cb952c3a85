/**
 * A field has one of several constant values (`{ field: status, in: [draft, placed] }`), or any value
 * (`{ field: assigneeId, present: true }`).
 */
import { listed, say } from '../../present/phrase.ts'
import { quote } from '../../present/quote.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Field, FieldType, Resource } from '../../resources/resource.ts'
import { type Condition, meets } from '../conditions/condition.ts'
import { comparedField, exactly, fieldText, isFieldKnown, type RelationKind } from './relation-kind.ts'

export interface StateRelation {
  readonly kind: 'state'
  readonly name: string
  readonly field: string
  /** Undefined: any value. */
  readonly values: readonly Scalar[] | undefined
}

type StateForm =
  | { readonly field: string; readonly in: readonly Scalar[] }
  | { readonly field: string; readonly present: true }

export const state: RelationKind<StateRelation, StateForm> = {
  isForm: (form): form is StateForm => typeof form === 'object' && form !== null && ('in' in form || 'present' in form),
  parse(name, form, declaration) {
    if (!('in' in form)) {
      const field = comparedField(form.field, declaration)
      return field && { kind: 'state', name, field: form.field, values: undefined }
    }
    const { field: named, in: values } = form
    const field = comparedField(named, declaration)
    if (!field) return undefined
    const faults = values.map((value) => whyImpossible(value, field, declaration.resource))
    for (const [i, why] of faults.entries()) if (why) declaration.fault(['in', i], 'constant-type', why)
    return faults.some(Boolean) ? undefined : { kind: 'state', name, field: named, values }
  },

  fields: ({ field }) => [field],
  attributes: () => [],
  accepted: ({ field, values }) =>
    values
      ? exactly(field, values)
      : {
          field,
          accepts: (value) => meets({ kind: 'present', field }, { [field]: value }),
          distinguishing: [],
          complete: false,
        },

  onResultOfWrite: 'stored',
  condition,
  couldHold: () => true,

  describe: ({ field, values }) => (values ? `${field} is ${orList(values)}` : `${field} has a value`),
  define: ({ field, values }) =>
    values ? say`${field} in ${listed(values.map(String), say` or `)}` : say`${field} present`,
  explain(relation, { object }) {
    const { field, values } = relation
    if (!isFieldKnown(object, field)) return { holds: null, why: `it holds if ${state.describe(relation)}` }
    const found = fieldText(object.fields, field)
    if (meets(condition(relation), object.fields)) return { holds: true, why: found }
    return { holds: false, why: values ? `${found}, not ${orList(values)}` : found }
  },

  meaning: ({ field, values }) =>
    values
      ? JSON.stringify([field, 'in', ...new Set(values.map((value) => JSON.stringify(value)).sort())])
      : JSON.stringify([field, 'present']),
  reach(before, after) {
    if (before.field !== after.field) return undefined
    if (within(before, after)) return 'more'
    return within(after, before) ? 'fewer' : undefined
  },
  /** One constant removed, added or replaced; or all constants, as if the predicate were dropped. */
  mistakes({ field, values }, { fields }, { valuesOf }) {
    if (!values) {
      const others = [...fields.values()].filter((one) => one.name !== field && one.type !== 'other')
      return others.map(({ name }) => ({ field: name, present: true }))
    }
    const others = valuesOf(field).filter((value) => !values.includes(value))
    const fewer = values.length < 2 ? [] : values.map((left) => values.filter((value) => value !== left))
    const more = others.map((value) => [...values, value])
    const swapped = values.flatMap((left) => others.map((value) => values.map((one) => (one === left ? value : one))))
    const all = others.length > 1 ? [[...values, ...others]] : []
    return [...fewer, ...more, ...swapped, ...all].map((constants) => ({ field, in: constants }))
  },
}

function condition({ field, values }: StateRelation): Condition {
  return values ? { kind: 'holds', field, values } : { kind: 'present', field }
}

/** Whether each object that has one state has the other one too. */
function within({ values }: StateRelation, other: StateRelation): boolean {
  if (!other.values) return true
  return values?.every((value) => other.values?.includes(value)) ?? false
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
