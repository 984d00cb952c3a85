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

type Members = Readonly<Record<string, unknown>>

/** What every record has, and of the rest the kind of its values. */
function isRecord(value: unknown): value is DecisionRecord {
  if (!isObject(value)) return false
  const { time, requestId, method, status, outcome, facts } = value
  const texts = [time, requestId, method, outcome].every((one) => typeof one === 'string')
  if (!texts || typeof status !== 'number' || Number.isNaN(Date.parse(time as string))) return false
  return ['roles', 'relations', 'rules', 'fieldsRefused'].every((name) => areTexts(value[name])) && areFacts(facts)
}

function areFacts(facts: unknown): boolean {
  if (facts === undefined) return true
  if (!isObject(facts)) return false
  return (
    ['attributes', 'object', 'proposed'].every((name) => facts[name] === undefined || isObject(facts[name])) &&
    ['changed', 'named', 'read', 'removed', 'queried', 'selected', 'everywhere', 'shown'].every((name) =>
      areTexts(facts[name]),
    ) &&
    (facts.where === undefined || isCondition(facts.where))
  )
}

function isCondition(value: unknown): boolean {
  if (!isObject(value)) return false
  switch (value.kind) {
    case 'always':
    case 'never':
      return true
    case 'holds':
      return typeof value.field === 'string' && Array.isArray(value.values)
    case 'not':
      return isCondition(value.of)
    case 'all':
    case 'some':
      return Array.isArray(value.of) && value.of.every(isCondition)
    default:
      return false
  }
}

function areTexts(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'))
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
