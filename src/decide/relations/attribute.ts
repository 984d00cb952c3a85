/** A field is the caller's id (`owner: customerId`), or is equal to an attribute of the caller. */
import { say } from '../../present/phrase.ts'
import { quote } from '../../present/quote.ts'
import type { Scalar } from '../../resources/object.ts'
import { has } from '../condition.ts'
import { comparedField, exactly, fieldOf, fieldText, isTold } from './compared-field.ts'
import type { KnownFacts, RelationKind, RelationReason } from './relation-kind.ts'

export interface AttributeRelation {
  readonly kind: 'attribute'
  readonly name: string
  readonly field: string
  /** `id` for the caller's id. */
  readonly attribute: string
}

type Form = string | { readonly field: string; readonly equals: string }

const SUBJECT = 'subject.'

export const attribute: RelationKind<AttributeRelation, Form> = {
  isForm: (form): form is Form =>
    typeof form === 'string' || (typeof form === 'object' && form !== null && 'equals' in form),
  parse(name, form, declaration) {
    const { field: named, equals } = typeof form === 'string' ? { field: form, equals: `${SUBJECT}id` } : form
    const field = comparedField(named, declaration)
    return field && { kind: 'attribute', name, field: field.name, attribute: equals.slice(SUBJECT.length) }
  },

  fields: ({ field }) => [field],
  attributes: (relation) => [relation.attribute],
  equates: (relation) => relation,
  accepted({ field, attribute }, attributeOf) {
    const value = attributeOf(attribute)
    return exactly(field, value === undefined ? [] : [value])
  },

  onResultOfWrite: 'proposed',
  holds({ field, attribute }, attributeOf, object) {
    const value = attributeOf(attribute)
    return value !== undefined && has(object, field, value)
  },
  condition({ field, attribute }, attributeOf) {
    const value = attributeOf(attribute)
    return value === undefined ? { kind: 'never' } : { kind: 'holds', field, values: [value] }
  },
  couldHold: (relation, hasAttribute) => hasAttribute(relation.attribute),

  describe: ({ field, attribute }) => `${field} is ${attributeText(attribute)}`,
  define: ({ field, attribute }) => (attribute === 'id' ? say`${field}` : say`${field} = ${`${SUBJECT}${attribute}`}`),
  explain,

  meaning: ({ field, attribute }) => JSON.stringify([field, 'subject', attribute]),
  reach: () => undefined,
  /** Each other field of the same type. */
  mistakes({ field, attribute }, { fields }) {
    const type = fields.get(field)?.type
    const others = [...fields.values()].filter((one) => one.type === type && one.name !== field)
    return others.map(({ name }) => (attribute === 'id' ? name : { field: name, equals: `${SUBJECT}${attribute}` }))
  },
}

function explain(relation: AttributeRelation, known: KnownFacts): RelationReason {
  const { field, attribute } = relation
  if (!known.hasCredentials) return { holds: false, why: 'nobody is known without credentials' }
  if (known.isOwnRecord && field === 'id' && attribute === 'id') {
    return { holds: true, why: "the path shows the caller's own record" }
  }
  const { value, isKnown } = known.attribute(attribute)
  if (!isKnown || !isTold(known.object, field)) {
    const asks = `it holds if ${field} is ${attributeText(attribute)}`
    const fromElsewhere = !isKnown && attribute !== 'id'
    return { holds: null, why: fromElsewhere ? `${asks}, which the caller's users record or token says` : asks }
  }
  if (value === undefined) return { holds: false, why: `the caller has no ${attribute} to compare with` }
  return has(known.object.fields, field, value)
    ? { holds: true, why: whyEqual(relation, known, value) }
    : {
        holds: false,
        why: `${fieldText(known.object.fields, field)}, not ${attributeText(attribute)} (${quote(value)})`,
      }
}

function whyEqual({ field, attribute }: AttributeRelation, { object }: KnownFacts, value: Scalar): string {
  const verb = Array.isArray(fieldOf(object.fields, field)) ? 'has' : 'is'
  return `${field} ${verb} ${quote(value)}, ${attributeText(attribute)}`
}

function attributeText(attribute: string): string {
  return attribute === 'id' ? 'the caller' : `the caller's ${attribute}`
}
