/** A field is the caller's id (`owner: customerId`), or has a value in common with an attribute of the caller. */
import { say } from '../../present/phrase.ts'
import { quote } from '../../present/quote.ts'
import { meets } from '../conditions/condition.ts'
import {
  comparedField,
  exactly,
  fieldOf,
  fieldText,
  isFieldKnown,
  type KnownFacts,
  type RelationKind,
  type RelationReason,
  WITHOUT_CREDENTIALS,
} from './relation-kind.ts'

export interface AttributeRelation {
  readonly kind: 'attribute'
  readonly name: string
  readonly field: string
  /** `id` for the caller's id. */
  readonly attribute: string
  /** A new object gets the caller's value, if its body doesn't name the field. */
  readonly fill: boolean
}

type AttributeForm = string | { readonly field: string; readonly equals: string; readonly fill?: boolean }

const SUBJECT = 'subject.'
/** The relation of this name fills its field on create by itself. */
const OWNER = 'owner'

export const attribute: RelationKind<AttributeRelation, AttributeForm> = {
  isForm: (form): form is AttributeForm =>
    typeof form === 'string' || (typeof form === 'object' && form !== null && 'equals' in form),
  parse(name, form, declaration) {
    const {
      field: named,
      equals,
      fill = false,
    } = typeof form === 'string' ? { field: form, equals: `${SUBJECT}id` } : form
    const field = comparedField(named, declaration)
    const attribute = equals.slice(SUBJECT.length)
    return field && { kind: 'attribute', name, field: field.name, attribute, fill: fill || name === OWNER }
  },

  fields: ({ field }) => [field],
  attributes: (relation) => [relation.attribute],
  equates: (relation) => relation,
  accepted: ({ field, attribute }, { valuesOf }) => exactly(field, valuesOf(attribute)),

  onResultOfWrite: 'proposed',
  condition({ field, attribute }, { valuesOf }) {
    const values = valuesOf(attribute)
    return values.length === 0 ? { kind: 'never' } : { kind: 'holds', field, values }
  },
  couldHold: (relation, has) => has(relation.attribute),

  describe: ({ field, attribute }) => `${field} is ${attributeText(attribute)}`,
  define: ({ field, attribute }) => (attribute === 'id' ? say`${field}` : say`${field} = ${`${SUBJECT}${attribute}`}`),
  explain,

  meaning: ({ field, attribute }) => JSON.stringify([field, 'subject', attribute]),
  reach: () => undefined,
  /** Each other field of the same type. */
  mistakes({ name, field, attribute, fill }, { fields }) {
    const type = fields.get(field)?.type
    const others = [...fields.values()].filter((one) => one.type === type && one.name !== field)
    const fills = fill && name !== OWNER
    return others.map((other) =>
      attribute === 'id' && !fills
        ? other.name
        : { field: other.name, equals: `${SUBJECT}${attribute}`, ...(fills ? { fill } : {}) },
    )
  },
}

function explain(relation: AttributeRelation, known: KnownFacts): RelationReason {
  const { field, attribute } = relation
  if (!known.hasCredentials) return WITHOUT_CREDENTIALS
  if (known.isOwnRecord && field === 'id' && attribute === 'id') {
    return { holds: true, why: "the path shows the caller's own record" }
  }
  const { values, isKnown } = known.attribute(attribute)
  if (!isKnown || !isFieldKnown(known.object, field)) {
    const asks = `it holds if ${field} is ${attributeText(attribute)}`
    const fromElsewhere = !isKnown && attribute !== 'id'
    return { holds: null, why: fromElsewhere ? `${asks}, which the caller's users record or token says` : asks }
  }
  if (values.length === 0) return { holds: false, why: `the caller has no ${attribute} to compare with` }
  const found = values.find((value) => meets({ kind: 'holds', field, values: [value] }, known.object.fields))
  if (found === undefined) {
    const held = values.slice(0, 3).map(quote).join(', ')
    return { holds: false, why: `${fieldText(known.object.fields, field)}, not ${attributeText(attribute)} (${held})` }
  }
  const verb = Array.isArray(fieldOf(known.object.fields, field)) ? 'has' : 'is'
  return { holds: true, why: `${field} ${verb} ${quote(found)}, ${attributeText(attribute)}` }
}

function attributeText(attribute: string): string {
  return attribute === 'id' ? 'the caller' : `the caller's ${attribute}`
}
