/**
 * Adds the facts of a record, other than relations, to an explanation: refused fields, the query, the proposed object.
 */
import type { ProblemCode } from '../../../base/problems/catalogue.ts'
import { stageOf } from '../../../base/problems/catalogue.ts'
import { quote } from '../../../present/quote.ts'
import type { ExplainedAnswer, Explanation } from '../explanation.ts'
import { problem } from '../finding.ts'
import type { ExplainableRecord } from './read-record.ts'

export function asRecorded(record: ExplainableRecord, explanation: Explanation): Explanation {
  return withLater(record, withQuery(record, withProposal(record, withFields(record, explanation))))
}

/** The policy may allow the action but not some fields of the body; the record names them. */
function withFields(record: ExplainableRecord, explanation: Explanation): Explanation {
  const writable = new Set(explanation.cases.flatMap(({ fields }) => fields?.writable ?? []))
  const refused = (record.fieldsRefused ?? []).filter((field) => !writable.has(field))
  if (explanation.outcome !== 'allow' || refused.length === 0 || record.problem === 'invalid-query') return explanation
  const reason = `the action is allowed, but the body may not change ${refused.map(quote).join(', ')}`
  return { ...explanation, outcome: 'deny', reason, answer: refusal(record, 'field-forbidden') }
}

/** The policy allowed the stored object and refused the proposed one: that refusal doesn't conceal the object. */
function withProposal(record: ExplainableRecord, explanation: Explanation): Explanation {
  const { facts, problem: then } = record
  const wasRefused = facts?.proposed !== undefined && (then === 'forbidden' || then === 'credentials-missing')
  if (!wasRefused || explanation.answer?.code !== 'object-not-found') return explanation
  return { ...explanation, answer: refusal(record, 'forbidden') }
}

/** The policy may allow the list but not this filter or order. */
function withQuery(record: ExplainableRecord, explanation: Explanation): Explanation {
  const { queried = [], selected = [] } = record.facts ?? {}
  if (!isByPolicy(record)) return explanation
  // All cases have the same queryable fields.
  const queryable = explanation.cases.find(({ fields }) => fields)?.fields?.queryable
  const refused = queryable ? queried.filter((field) => !queryable.includes(field)) : []
  const shown = new Set(explanation.cases.flatMap(({ fields }) => fields?.shown ?? []))
  const unshown = queryable ? selected.filter((field) => !shown.has(field)) : []
  if (explanation.outcome !== 'allow' || refused.length + unshown.length === 0) return explanation
  const reason =
    refused.length > 0
      ? `the list is allowed, but filtering or sorting by ${refused.map(quote).join(', ')} is not: ` +
        'each line about the list must grant these fields'
      : `the list is allowed, but does not show ${unshown.map(quote).join(', ')}`
  return { ...explanation, outcome: 'deny', reason, answer: problem('invalid-query') }
}

/**
 * The policy allows the request, but something else refused it: the body, a precondition, the stored data, or a limit.
 */
function withLater(record: ExplainableRecord, explanation: Explanation): Explanation {
  const { problem: code, status } = record
  const stage = code === undefined || isByPolicy(record) ? 'policy' : stageOf(code)
  if (explanation.outcome === 'deny' || explanation.stage === 'request' || stage === undefined || stage === 'policy') {
    return explanation
  }
  const reason = `the policy allows it (${explanation.reason}); the recorded answer is ${quote(code)}`
  return { ...explanation, reason, answer: { status, code: code as ProblemCode, headers: {} } }
}

/** Whether the policy gave the recorded answer. It refuses a query only because of its fields. */
export function isByPolicy({ problem: code, fieldsRefused = [] }: ExplainableRecord): boolean {
  if (code === 'invalid-query') return fieldsRefused.length > 0
  return code === undefined || stageOf(code) === 'policy'
}

function refusal({ authentication }: ExplainableRecord, code: 'forbidden' | 'field-forbidden'): ExplainedAnswer {
  return problem(authentication === 'anonymous' ? 'credentials-missing' : code)
}
