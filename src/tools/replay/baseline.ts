/**
 * What another policy than the candidate answers to a recorded request, as a record: so the candidate is compared with
 * that policy, and edits between the log and it are no differences.
 */

import { wasRefusedByPolicy } from '../../analysis/replay/compare.ts'
import { type Again, decideAgain, type ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import type { Facts } from '../../decide/evidence.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'

/** The record that the baseline would have made, or why the log doesn't tell it. */
export async function recordUnder(
  baseline: ReplayPolicy,
  record: DecisionRecord,
): Promise<DecisionRecord | Extract<Again, { kind: 'undecidable' }>> {
  const { revision } = baseline.policyAt(Date.parse(record.time))
  if (record.revision === revision) return record
  // What the rows of a list showed then makes no difference: both policies are asked for it now.
  const again = await decideAgain(baseline, { ...record, revision })
  switch (again.kind) {
    case 'undecidable':
      return again
    case 'unconcerned':
      return record
    case 'further':
      return { kind: 'undecidable', why: again.why }
    case 'refused': {
      const { problem, status, fieldsRefused } = again
      const refused = fieldsRefused.length > 0 ? { fieldsRefused } : { fieldsRefused: undefined }
      return { ...record, revision, problem, status, ...refused }
    }
    case 'allowed': {
      const facts = { ...record.facts, ...shownBy(again.decision.evidence.facts) }
      if (!wasRefusedByPolicy(record)) return { ...record, revision, facts }
      return { ...record, revision, facts, problem: undefined, status: 200, fieldsRefused: undefined }
    }
  }
}

/** What a decision says of the objects and fields that a client sees. */
function shownBy({ where, shown, everywhere }: Facts): Facts {
  return { ...(where && { where }), ...(shown && { shown }), ...(everywhere && { everywhere }) }
}
