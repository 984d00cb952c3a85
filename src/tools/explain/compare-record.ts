/** Compares the answer of a decision record with the answer of policy files, which decide the request again. */
import { compare, type Difference, wasRefusedByPolicy } from '../../analysis/replay/compare.ts'
import type { Again } from '../../analysis/replay/decide-again.ts'
import { stageOf } from '../../base/problems/catalogue.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { quote } from '../../present/quote.ts'
import type { ExplainedAnswer, Explanation, RecordComparison } from './explanation.ts'

interface RecordVerdict {
  readonly sameOutcome: boolean | null
  readonly verdict: string
}

interface AnswerOfFiles {
  /** Undefined where no schema has the path, or where a gateway asked. */
  readonly again: Again | undefined
  /** What the verdict calls the policy files. */
  readonly files: string
}

export function compareRecord(
  record: DecisionRecord,
  now: Explanation,
  { again, files }: AnswerOfFiles,
): RecordComparison {
  const { requestId = null, revision, status, problem = null, rules = [], breakGlass } = record
  const places = now.rules.map(({ place }) => place)
  return {
    requestId,
    revision,
    sameRevision: revision === now.revision,
    status,
    problem,
    rules,
    sameRules: rules.join() === places.join(),
    ...(breakGlass !== undefined && { breakGlass }),
    ...(again
      ? verdictAgain(record, now, again, files)
      : (ofGateway(record, now, files) ?? verdictOf(record, now, files))),
  }
}

/** A gateway's answer has another status than its client's would. */
function ofGateway(
  { forwarded, problem }: DecisionRecord,
  { outcome }: Explanation,
  files: string,
): RecordVerdict | undefined {
  if (!forwarded || problem !== undefined || outcome !== 'allow') return undefined
  return { sameOutcome: true, verdict: `with ${files} the gateway may let the request pass, too` }
}

function verdictAgain(record: DecisionRecord, now: Explanation, again: Again, files: string): RecordVerdict {
  switch (again.kind) {
    // No rule was asked: of a caller who was blocked, only blocked.txt tells.
    case 'unconcerned':
      return verdictOf(record, now, files)
    case 'undecidable':
      return { sameOutcome: null, verdict: `with ${files} the answer is not known: ${again.why}` }
    case 'further':
      return { sameOutcome: null, verdict: `${files} may allow it, but the answer is not known: ${again.why}` }
    default: {
      const difference = compare(record, again)
      if (difference) return { sameOutcome: false, verdict: `${files} ${differenceText(record, now, difference)}` }
      const wasLater = record.problem !== undefined && stageOf(record.problem) === 'after' && !isByPolicy(record)
      return wasLater ? incomparable(record) : sameAnswer(record, files)
    }
  }
}

function differenceText(record: DecisionRecord, now: Explanation, { change, becomes, fields }: Difference): string {
  const listed = (names: readonly string[] = []) => names.join(', ') || 'none'
  switch (change) {
    case 'other-objects':
      return 'allow it too, but the list holds other objects'
    case 'other-fields':
      return `allow it too, but show other fields: ${listed(fields?.becomes)} instead of ${listed(fields?.was)}`
    case 'allowed-now':
      return `allow it: ${now.answer?.status ?? 'an answer'} instead of ${record.status}`
    default: {
      const then = record.problem === undefined ? String(record.status) : `${record.status} ${record.problem}`
      const other = becomes === then ? ` (other fields: ${listed(fields?.becomes)})` : ''
      return `give another answer: ${becomes} instead of ${then}${other}`
    }
  }
}

function sameAnswer({ status }: DecisionRecord, files: string): RecordVerdict {
  return { sameOutcome: true, verdict: `${files} give the same answer: ${status}` }
}

/** Where no rule was asked, no schema has the path, or a gateway asked. */
function verdictOf(record: DecisionRecord, now: Explanation, files: string): RecordVerdict {
  const wasAsked = record.route !== undefined && record.authentication !== 'rejected' && isByPolicy(record)
  if (!wasAsked) return incomparable(record)
  if (now.answer === null) return { sameOutcome: null, verdict: `with ${files} the answer depends on the object` }
  const isSame = now.answer.status === record.status && now.answer.code === (record.problem ?? null)
  return isSame ? sameAnswer(record, files) : different(record, now.answer, files)
}

function incomparable({ problem, status }: DecisionRecord): RecordVerdict {
  const what = quote(problem ?? status)
  return { sameOutcome: null, verdict: `the policy did not decide this answer (${what}), so it can't be compared` }
}

function different({ status, problem }: DecisionRecord, now: ExplainedAnswer, files: string): RecordVerdict {
  const [then, by] = now.status === status ? [`${status} ${problem}`, `${status} ${now.code}`] : [status, now.status]
  return { sameOutcome: false, verdict: `${files} give another answer: ${by} instead of ${then}` }
}

/** Whether the policy gave the recorded answer. */
export function isByPolicy(record: DecisionRecord): boolean {
  return record.problem === undefined || wasRefusedByPolicy(record)
}
