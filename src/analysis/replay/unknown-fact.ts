/** Whether a record holds everything that a policy would look at: another policy may compare values that it lacks. */

import { comparisonsIn } from '../../decide/conditions/condition.ts'
import type { Facts } from '../../decide/evidence.ts'
import { comparedAttributes, comparedFields } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import { type DecisionRecord, MASKED } from '../../decision-log/decision-record.ts'
import type { RecordedRequest } from './recorded-facts.ts'

/** A sentence for people about what is missing; undefined if nothing is missing. */
export async function unknownFact(
  snapshot: Snapshot,
  request: RecordedRequest,
  record: DecisionRecord,
): Promise<string | undefined> {
  const { facts = {} } = record
  if (facts.where && comparisonsIn(facts.where).some(({ value }) => value === MASKED))
    return "the record doesn't hold what the list was filtered by"
  const compared = await comparedFor(snapshot, request, record)
  return compared.map((relation) => unknownIn(facts, request, relation)).find((what) => what !== undefined)
}

/** The relations that a decision would look at. */
async function comparedFor(
  snapshot: Snapshot,
  { route, endpoint, caller }: RecordedRequest,
  { problem, facts, forwarded }: DecisionRecord,
): Promise<readonly Relation[]> {
  if (endpoint.operation === 'options') return []
  const subject = snapshot.subjectOf(caller)
  const table = await snapshot.table(subject, route.resource, endpoint.action)
  // Refused whatever attributes the caller has.
  if (!table.roleLevel(() => caller !== undefined).allowed) return []
  if (route.redirect || forwarded || (problem === 'object-not-found' && !facts?.object)) {
    // Answered before caller and object are compared: only the role level may ask for attributes.
    const passes = table.roleLevel((attribute) => caller !== undefined && attribute === 'id').allowed
    return passes ? [] : table.compared
  }
  const { compared } = await snapshot.table(subject, route.resource, 'read')
  return [...table.compared, ...compared]
}

function unknownIn(facts: Facts, { caller }: RecordedRequest, relation: Relation): string | undefined {
  const attributes = comparedAttributes(relation).filter((name) => name !== 'id')
  const attribute = caller && attributes.find((name) => isUnknown(facts.attributes, name))
  if (attribute !== undefined) return `the record doesn't hold the caller's \`${attribute}\``
  const objects = [facts.object, facts.proposed]
  const field = comparedFields(relation).find((name) => objects.some((values) => values && isUnknown(values, name)))
  return field && `the record doesn't hold the object's \`${field}\``
}

/** A field that an object doesn't have is recorded as null. */
export function isUnknown(values: Readonly<Record<string, unknown>> | undefined, name: string): boolean {
  return values === undefined || !Object.hasOwn(values, name) || values[name] === MASKED
}
