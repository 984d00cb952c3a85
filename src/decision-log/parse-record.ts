/** A line of a log -> the decision record that it is. */
import type { DecisionRecord } from './decision-record.ts'

/** Undefined for a line that a crash cut off, or that another program wrote. */
export function parseRecord(line: string): DecisionRecord | undefined {
  try {
    const value = JSON.parse(line)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What every record has; the rest is looked at where it is used. */
function isRecord(value: unknown): value is DecisionRecord {
  if (typeof value !== 'object' || value === null) return false
  const { time, requestId, method, status, outcome } = value as Partial<Record<keyof DecisionRecord, unknown>>
  const texts = [time, requestId, method, outcome].every((one) => typeof one === 'string')
  return texts && typeof status === 'number' && !Number.isNaN(Date.parse(time as string))
}
