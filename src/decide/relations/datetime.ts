/** A date-time lies before or after the request's time: `{ field: dueAt, after: now-30d, before: now }`. */
import ms, { type StringValue } from 'ms'
import { say } from '../../present/phrase.ts'
import { type Condition, meets } from '../conditions/condition.ts'
import { comparedField, fieldText, isFieldKnown, type RelationKind } from './relation-kind.ts'

/** Each absent where there is no bound; at least one is there. As ownership.yaml writes them: `now`, `now-30d`. */
interface TimeBounds {
  readonly before?: string
  readonly after?: string
}

export interface DatetimeRelation extends TimeBounds {
  readonly kind: 'datetime'
  readonly name: string
  readonly field: string
}

type DatetimeForm = TimeBounds & { readonly field: string }

export const datetime: RelationKind<DatetimeRelation, DatetimeForm> = {
  isForm: (form): form is DatetimeForm =>
    typeof form === 'object' && form !== null && ('before' in form || 'after' in form),
  parse(name, { field: named, ...bounds }, declaration) {
    const field = comparedField(named, declaration)
    if (!field) return undefined
    if (field.type !== 'string') {
      const hint = 'a time relation needs a field whose schema type is string, or a list of these'
      declaration.fault(['field'], 'time-field', `the field \`${named}\` has no date-times`, hint)
      return undefined
    }
    const { before, after } = bounds
    if (before !== undefined && after !== undefined && offsetOf(after) >= offsetOf(before)) {
      const hint = 'swap before and after'
      declaration.fault(['after'], 'time-empty', `no time is after ${after} and before ${before}`, hint)
      return undefined
    }
    return { kind: 'datetime', name, field: named, ...bounds }
  },

  fields: ({ field }) => [field],
  attributes: () => [],
  accepted(relation, { now }) {
    const { field, before, after } = relation
    const condition = conditionAt(relation, now)
    const late = now + offsetOf(before ?? 'now+1000d')
    const early = now + offsetOf(after ?? 'now-1000d')
    return {
      field,
      accepts: (value) => !Array.isArray(value) && meets(condition, { [field]: value }),
      distinguishing: [late - 60_000, early + 60_000, (late + early) / 2]
        .map((at) => new Date(at).toISOString())
        .filter((value) => meets(condition, { [field]: value })),
      complete: false,
    }
  },

  isTimed: () => true,
  onResultOfWrite: 'proposed',
  condition: (relation, { now }) => conditionAt(relation, now),
  couldHold: () => true,

  describe: ({ field, ...bounds }) => `${field} is ${boundsText(bounds)}`,
  define: ({ field, ...bounds }) => say`${field} ${boundsText(bounds)}`,
  explain(relation, { object, now }) {
    const { field, ...bounds } = relation
    if (!isFieldKnown(object, field)) return { holds: null, why: `it holds if ${datetime.describe(relation)}` }
    const found = fieldText(object.fields, field)
    const holds = meets(conditionAt(relation, now), object.fields)
    return { holds, why: holds ? `${found}, ${boundsText(bounds)}` : `${found}, not ${boundsText(bounds)}` }
  },

  meaning: ({ field, before, after }) =>
    JSON.stringify([field, 'time', ...[before, after].map((bound) => (bound === undefined ? null : offsetOf(bound)))]),
  reach(before, after) {
    if (before.field !== after.field) return undefined
    if (contains(after, before)) return 'more'
    return contains(before, after) ? 'fewer' : undefined
  },
  /** Before and after mixed up, or one of both bounds dropped. */
  mistakes({ field, before, after }) {
    if (before !== undefined && after !== undefined)
      return [
        { field, before },
        { field, after },
      ]
    return before === undefined ? [{ field, before: after }] : [{ field, after: before }]
  },
}

function conditionAt({ field, before, after }: DatetimeRelation, now: number): Condition {
  return {
    kind: 'time',
    field,
    ...(before === undefined ? {} : { before: now + offsetOf(before) }),
    ...(after === undefined ? {} : { after: now + offsetOf(after) }),
  }
}

/** The offset of `now`, `now-30d` or `now+2h`, in milliseconds. ownership.schema.json has checked the form. */
function offsetOf(bound: string): number {
  const offset = bound.slice('now'.length)
  return offset === '' ? 0 : (offset.startsWith('-') ? -1 : 1) * ms(offset.slice(1) as StringValue)
}

function contains(wide: TimeBounds, narrow: TimeBounds): boolean {
  const latest = ({ before }: TimeBounds) => (before === undefined ? Number.POSITIVE_INFINITY : offsetOf(before))
  const earliest = ({ after }: TimeBounds) => (after === undefined ? Number.NEGATIVE_INFINITY : offsetOf(after))
  return earliest(wide) <= earliest(narrow) && latest(wide) >= latest(narrow)
}

function boundsText({ before, after }: TimeBounds): string {
  const late = after === undefined ? [] : [`after ${after}`]
  const early = before === undefined ? [] : [`before ${before}`]
  return [...late, ...early].join(' and ')
}
