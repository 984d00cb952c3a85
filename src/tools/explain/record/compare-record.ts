/**
 * Compares the recorded answer with the answer of policy files. It can't compare other answers (limits, bodies, tokens).
 */
import { stageOf } from '../../../base/problems/catalogue.ts'
import { quote } from '../../../present/quote.ts'
import type { ExplainedAnswer, Explanation, RecordComparison } from '../explanation.ts'
import { isByPolicy } from './as-recorded.ts'
import type { ExplainableRecord } from './read-record.ts'

interface Verdict {
  readonly sameOutcome: boolean | null
  readonly verdict: string
}

/** `files`: what the verdict calls the policy files. */
export function compareRecord(record: ExplainableRecord, now: Explanation, files: string): RecordComparison {
  const { requestId = null, revision, status, problem = null, rules = [] } = record
  const places = now.rules.map(({ place }) => place)
  return {
    requestId,
    revision,
    sameRevision: revision === now.revision,
    status,
    problem,
    rules,
    sameRules: rules.join() === places.join(),
    ...(ofGateway(record, now, files) ?? verdictOf(record, now, files)),
  }
}

/** A gateway's answer has another status than its client's would. */
function ofGateway(
  { forwarded, problem }: ExplainableRecord,
  { outcome }: Explanation,
  files: string,
): Verdict | undefined {
  if (!forwarded || problem !== undefined || outcome !== 'allow') return undefined
  return { sameOutcome: true, verdict: `with ${files} the gateway may let the request pass, too` }
}

function verdictOf(record: ExplainableRecord, now: Explanation, files: string): Verdict {
  if (now.stage === 'request' && now.request.route === null && record.route === undefined) return untold(record)
  if (record.authentication === 'rejected') return untold(record)
  if (!isByPolicy(record)) return refusedBefore(record, now, files) ?? untold(record)
  if (now.answer === null) return { sameOutcome: null, verdict: `with ${files} the answer depends on the object` }
  const fields = record.problem === 'invalid-query' ? [] : (record.fieldsRefused ?? [])
  if (fields.length > 0 && now.outcome === 'allow') return writableNow(record, now, files)
  if (differsByBody(record, now.answer)) return withOrWithoutBody(record, now, files)
  if (now.answer.status !== record.status || now.answer.code !== (record.problem ?? null)) {
    return different(record, now.answer, files)
  }
  return (
    mayHaveWritten(record, now, files) ?? {
      sameOutcome: true,
      verdict: `${files} give the same answer: ${record.status}`,
    }
  )
}

/** The recorded refusal came after the policy had allowed the request, and the policy refuses the request now. */
function refusedBefore(
  record: ExplainableRecord,
  { outcome, answer }: Explanation,
  files: string,
): Verdict | undefined {
  const isLater = record.problem !== undefined && stageOf(record.problem) === 'after'
  return isLater && outcome === 'deny' && answer ? different(record, answer, files) : undefined
}

function untold({ problem, status }: ExplainableRecord): Verdict {
  const what = quote(problem ?? status)
  return { sameOutcome: null, verdict: `the policy did not decide this answer (${what}), so it can't be compared` }
}

function different({ status, problem }: ExplainableRecord, now: ExplainedAnswer, files: string): Verdict {
  const [then, by] = now.status === status ? [`${status} ${problem}`, `${status} ${now.code}`] : [status, now.status]
  return { sameOutcome: false, verdict: `${files} give another answer: ${by} instead of ${then}` }
}

/** The answer to a write shows the new object, and the record doesn't tell how the new object relates to the caller. */
function differsByBody({ problem, status }: ExplainableRecord, now: ExplainedAnswer): boolean {
  return (
    problem === undefined && status !== now.status && [status, now.status].every((one) => one === 200 || one === 204)
  )
}

function withOrWithoutBody(record: ExplainableRecord, now: Explanation, files: string): Verdict {
  const verdict = `${files} allow it too; whether the answer has a body depends on the object after the write`
  return mayHaveWritten(record, now, files) ?? { sameOutcome: record.revision === now.revision || null, verdict }
}

/**
 * The policy now allows all refused fields on the stored object; the record doesn't tell the relations after the write.
 */
function writableNow(record: ExplainableRecord, now: Explanation, files: string): Verdict {
  if (record.revision === now.revision) return { sameOutcome: true, verdict: `${files} give the same answer` }
  return {
    sameOutcome: null,
    verdict: `${files} allow these fields, unless the write changes the relations of the caller to the object`,
  }
}

/** A record of an allowed write doesn't name the fields; under other rules some of them may be refused. */
function mayHaveWritten(record: ExplainableRecord, now: Explanation, files: string): Verdict | undefined {
  const refused = now.cases.flatMap(({ fields }) => fields?.notWritable ?? [])
  if (record.problem !== undefined || record.revision === now.revision || refused.length === 0) return undefined
  const verdict =
    `${files} allow it too, but not for the fields ${refused.join(', ')}, and the record does not say which ` +
    'fields were written'
  return { sameOutcome: null, verdict }
}
