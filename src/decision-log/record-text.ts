/** A decision record as a line for people. */
import { printable } from '../present/quote.ts'
import type { DecisionRecord } from './decision-record.ts'

export function recordText(record: DecisionRecord): string {
  const { time, status, outcome, method, route = '(no route)', objectId, problem, rules = [], relations = [] } = record
  const parts = [
    time,
    `${status}`,
    outcome.padEnd('refused'.length),
    method.padEnd('OPTIONS'.length),
    route,
    ...(objectId === undefined ? [] : [objectId]),
    whoOf(record),
    ...(problem === undefined ? [] : [problem]),
    ...(relations.length === 0 ? [] : [relations.join('+')]),
    ...(record.fieldsRefused ? [`fields refused: ${record.fieldsRefused.join(', ')}`] : []),
    rules.length === 0 ? 'no rule' : rules.join(' '),
    record.requestId,
  ]
  return printable(parts.join('  '))
}

function whoOf({ authentication, subject, roles = [], credential }: DecisionRecord): string {
  const by = credential === undefined ? '' : ` by ${credential}`
  if (authentication === 'rejected')
    return subject === undefined ? 'bad credentials' : `${subject} (credential refused)${by}`
  return subject === undefined ? 'anonymous' : `${subject} (${roles.join(', ') || 'no role'})${by}`
}
