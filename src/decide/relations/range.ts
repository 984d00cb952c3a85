/** A number lies between bounds, both included: `{ field: total, atLeast: 1, atMost: 10000 }`. */
import { say } from '../../present/phrase.ts'
import { type Condition, meets } from '../conditions/condition.ts'
import { comparedField, fieldText, isFieldKnown, type RelationKind } from './relation-kind.ts'

export interface RangeRelation extends NumberBounds {
  readonly kind: 'range'
  readonly name: string
  readonly field: string
}

/** Each absent where there is no bound; at least one is there. */
interface NumberBounds {
  readonly atLeast?: number
  readonly atMost?: number
}

type RangeForm = NumberBounds & { readonly field: string }

export const range: RelationKind<RangeRelation, RangeForm> = {
  isForm: (form): form is RangeForm =>
    typeof form === 'object' && form !== null && ('atLeast' in form || 'atMost' in form),
  parse(name, { field: named, ...bounds }, declaration) {
    const field = comparedField(named, declaration)
    if (!field) return undefined
    if (field.type !== 'number' && field.type !== 'integer') {
      const hint = 'a range needs a field whose schema type is number or integer, or a list of these'
      declaration.fault(['field'], 'range-field', `the field \`${named}\` has no numbers`, hint)
      return undefined
    }
    const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = bounds
    if (atLeast > atMost) {
      const hint = 'swap the bounds'
      declaration.fault(['atLeast'], 'range-empty', `no number is at least ${atLeast} and at most ${atMost}`, hint)
      return undefined
    }
    return { kind: 'range', name, field: named, ...bounds }
  },

  fields: ({ field }) => [field],
  attributes: () => [],
  accepted(relation) {
    const { field, atLeast, atMost } = relation
    const middle = ((atLeast ?? (atMost ?? 0) - 2) + (atMost ?? (atLeast ?? 0) + 2)) / 2
    const distinguishing = [atLeast, atMost, Math.floor(middle), middle].filter((value) => value !== undefined)
    const condition = conditionOf(relation)
    return {
      field,
      accepts: (value) => !Array.isArray(value) && meets(condition, { [field]: value }),
      distinguishing: [...new Set(distinguishing)].filter((value) => meets(condition, { [field]: value })),
      complete: false,
    }
  },

  onResultOfWrite: 'proposed',
  condition: conditionOf,
  couldHold: () => true,

  describe: ({ field, ...bounds }) => `${field} is ${boundsText(bounds)}`,
  define: ({ field, ...bounds }) => say`${field} ${boundsText(bounds)}`,
  explain(relation, { object }) {
    const { field, ...bounds } = relation
    if (!isFieldKnown(object, field)) return { holds: null, why: `it holds if ${range.describe(relation)}` }
    const found = fieldText(object.fields, field)
    if (meets(conditionOf(relation), object.fields)) return { holds: true, why: `${found}, ${boundsText(bounds)}` }
    return { holds: false, why: `${found}, not ${boundsText(bounds)}` }
  },

  meaning: ({ field, atLeast, atMost }) => JSON.stringify([field, 'range', atLeast ?? null, atMost ?? null]),
  reach(before, after) {
    if (before.field !== after.field) return undefined
    if (contains(after, before)) return 'more'
    return contains(before, after) ? 'fewer' : undefined
  },
  /** Each bound one off, or dropped where the other one stays. */
  mistakes({ field, atLeast, atMost }) {
    const low = atLeast === undefined ? [] : [{ atLeast: atLeast - 1 }, { atLeast: atLeast + 1 }]
    const high = atMost === undefined ? [] : [{ atMost: atMost - 1 }, { atMost: atMost + 1 }]
    const open = atLeast === undefined || atMost === undefined ? [] : [{ atLeast }, { atMost }]
    const kept = { ...(atLeast === undefined ? {} : { atLeast }), ...(atMost === undefined ? {} : { atMost }) }
    return [...[...low, ...high].map((one) => ({ ...kept, ...one })), ...open]
      .filter((bounds) => (bounds.atLeast ?? bounds.atMost ?? 0) <= (bounds.atMost ?? bounds.atLeast ?? 0))
      .map((bounds) => ({ field, ...bounds }))
  },
}

function conditionOf({ field, atLeast, atMost }: RangeRelation): Condition {
  return {
    kind: 'between',
    field,
    ...(atLeast === undefined ? {} : { atLeast }),
    ...(atMost === undefined ? {} : { atMost }),
  }
}

function contains(wide: NumberBounds, narrow: NumberBounds): boolean {
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = narrow
  return (wide.atLeast ?? Number.NEGATIVE_INFINITY) <= atLeast && (wide.atMost ?? Number.POSITIVE_INFINITY) >= atMost
}

function boundsText({ atLeast, atMost }: NumberBounds): string {
  const low = atLeast === undefined ? [] : [`at least ${atLeast}`]
  const high = atMost === undefined ? [] : [`at most ${atMost}`]
  return [...low, ...high].join(' and ')
}
