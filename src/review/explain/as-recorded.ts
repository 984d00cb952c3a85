/** What a record tells besides the relations, and what an explanation of the request then says: fields, a query, a proposal. */
import type { Answer, Explanation } from './explanation.ts'
import { problem } from './judge.ts'
import { quote } from './quote.ts'
import type { DecisionRecord } from './read-record.ts'

export function asRecorded(record: DecisionRecord, explanation: Explanation): Explanation {
  return withQuery(record, withProposal(record, withFields(record, explanation)))
}

/** The action may be allowed, and fields of the body not: the record names them. */
function withFields(record: DecisionRecord, explanation: Explanation): Explanation {
  const writable = new Set(explanation.cases.flatMap(({ fields }) => fields?.writable ?? []))
  const refused = record.fieldsRefused.filter((field) => !writable.has(field))
  if (explanation.outcome !== 'allow' || refused.length === 0) return explanation
  const reason = `the action is allowed, but the body may not change ${refused.map(quote).join(', ')}`
  return { ...explanation, outcome: 'deny', reason, answer: refusal(record, 'field-forbidden') }
}

/** Refused on the object as it would become, after it was allowed on the object as it is: that one isn't concealed. */
function withProposal(record: DecisionRecord, explanation: Explanation): Explanation {
  const { proposed, problem: then } = record
  const wasRefused = proposed && (then === 'forbidden' || then === 'credentials-missing')
  if (!wasRefused || explanation.answer?.code !== 'object-not-found') return explanation
  return { ...explanation, answer: refusal(record, 'forbidden') }
}

/** The list may be answered, and not filtered or sorted as it was. */
function withQuery({ queried }: DecisionRecord, explanation: Explanation): Explanation {
  // It is the same in all cases.
  const queryable = explanation.cases.find(({ fields }) => fields)?.fields?.queryable
  const refused = queryable ? queried.filter((field) => !queryable.includes(field)) : []
  if (explanation.outcome !== 'allow' || refused.length === 0) return explanation
  const reason = `the list is allowed, but not filtered or sorted by ${refused.map(quote).join(', ')}: each line about it must grant these`
  return { ...explanation, outcome: 'deny', reason, answer: problem('invalid-query') }
}

function refusal({ authentication }: DecisionRecord, code: 'forbidden' | 'field-forbidden'): Answer {
  return problem(authentication === 'anonymous' ? 'credentials-missing' : code)
}
