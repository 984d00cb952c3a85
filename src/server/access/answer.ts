/** An evaluation as the service gets it (a decision of AuthZEN), and as the decision record keeps it. */
import { rulePlace } from '../../decide/evidence.ts'
import { type AskedRecord, cutName } from '../../decision-log/decision-record.ts'
import type { Json } from '../../resources/resource.ts'
import type { Evaluated } from './ask.ts'
import type { Asker } from './asker.ts'
import type { DenialReason } from './denial-reasons.ts'
import type { Evaluation } from './entities.ts'

interface AskedAbout extends Pick<Evaluation, 'subject' | 'action'> {
  readonly resource: Omit<Evaluation['resource'], 'id'> & { readonly id?: string }
}

/** Rule lines go to the record, not to strangers. */
export function decisionOf({ policy }: Asker, { decision, reason, fields }: Evaluated): Json {
  const context = {
    ...(reason === undefined ? {} : { reason }),
    revision: policy.revision,
    ...(fields === undefined ? {} : { fields }),
  }
  return { decision, context }
}

/** With these reasons, a name was not found, or not looked for. */
const UNKNOWN: readonly DenialReason[] = ['subject-type', 'subject-unknown', 'resource-unknown', 'action-unknown']

/** Without the id of a resource, the question is about all objects. */
export function recordOfAsked({ subject, resource, action }: AskedAbout, evaluated: Evaluated): AskedRecord {
  const { decision, reason, evidence, caller, action: known } = evaluated
  const cut = reason !== undefined && UNKNOWN.includes(reason) ? cutName : (name: string) => name
  const id = reason === 'object-missing' ? cutName(resource.id ?? '') : resource.id
  return {
    ...(subject.type === 'user' ? {} : { subjectType: cut(subject.type) }),
    subject: cut(subject.id),
    roles: caller?.roles,
    resource: cut(resource.type),
    objectId: id === undefined ? undefined : cut(id),
    action: known ?? cut(action.name),
    decision,
    reason,
    relations: evidence?.relations,
    rules: evidence?.lines.map(rulePlace),
    fieldsRefused: evidence?.fieldsRefused.length ? evidence.fieldsRefused : undefined,
    facts: evidence?.facts,
  }
}
