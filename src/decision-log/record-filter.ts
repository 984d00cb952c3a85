/** Which records somebody asks for. */
import type { DecisionRecord } from './decision-record.ts'

/** What is absent doesn't restrict; of several values of one kind, one must fit. */
export interface RecordFilter {
  readonly role?: readonly string[]
  readonly resource?: readonly string[]
  readonly action?: readonly string[]
  readonly subject?: readonly string[]
  readonly credential?: readonly string[]
  readonly outcome?: readonly string[]
  readonly status?: readonly number[]
  readonly route?: readonly string[]
  readonly requestId?: readonly string[]
  /** Milliseconds since the epoch: from then on, and before then. */
  readonly since?: number
  readonly until?: number
}

export function fits(record: DecisionRecord, filter: RecordFilter): boolean {
  const time = Date.parse(record.time)
  return (
    has(filter.resource, record.resource) &&
    has(filter.action, record.action) &&
    has(filter.subject, record.subject) &&
    has(filter.credential, record.credential) &&
    has(filter.outcome, record.outcome) &&
    has(filter.status, record.status) &&
    has(filter.route, record.route) &&
    has(filter.requestId, record.requestId) &&
    (filter.role === undefined || filter.role.some((role) => record.roles?.includes(role))) &&
    time >= (filter.since ?? Number.NEGATIVE_INFINITY) &&
    time < (filter.until ?? Number.POSITIVE_INFINITY)
  )
}

function has<T>(wanted: readonly T[] | undefined, value: T | undefined): boolean {
  return wanted === undefined || (value !== undefined && wanted.includes(value))
}
