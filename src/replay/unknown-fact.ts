/** Whether a record holds all that a policy would look at: another policy may compare what nobody wrote down. */
import type { DecisionRecord } from '../decision-log/decision-record.ts'
import { MASKED } from '../decision-log/decision-record.ts'
import type { Snapshot } from '../policy/snapshot.ts'
import type { Asked } from '../request/refuse-unanswerable.ts'
import type { Json } from '../resources/resource.ts'
import type { Condition } from '../store/contract.ts'

type Values = Readonly<Record<string, Json>>

/** What is missing, for people; undefined when nothing is. */
export async function unknownFact(
  snapshot: Snapshot,
  { match: { route, endpoint }, caller }: Asked,
  { facts = {} }: DecisionRecord,
): Promise<string | undefined> {
  if (facts.where && isMasked(facts.where)) return "the record doesn't hold what the list was filtered by"
  const subject = snapshot.subjectOf(caller)
  const pages = await Promise.all(
    [endpoint.action, 'read'].map((action) => snapshot.page(subject, route.resource, action)),
  )
  for (const relation of pages.flatMap((page) => page.compared)) {
    const attribute = relation.kind === 'caller' && relation.attribute !== 'id' ? relation.attribute : undefined
    if (caller && attribute !== undefined && isUnknown(facts.attributes, attribute)) {
      return `the record doesn't hold the caller's \`${attribute}\``
    }
    for (const values of [facts.object, facts.proposed]) {
      if (values && isUnknown(values, relation.field))
        return `the record doesn't hold the object's \`${relation.field}\``
    }
  }
  return undefined
}

function isMasked(condition: Condition): boolean {
  switch (condition.kind) {
    case 'holds':
      return condition.values.includes(MASKED)
    case 'all':
    case 'some':
      return condition.of.some(isMasked)
    case 'not':
      return isMasked(condition.of)
    case 'always':
    case 'never':
      return false
  }
}

/** A field that an object doesn't have is written down as null. */
function isUnknown(values: Values | undefined, name: string): boolean {
  return values === undefined || !Object.hasOwn(values, name) || values[name] === MASKED
}
