/** A near miss in words: "if the caller were owner (ownerId is the caller)", "without the deny policy.csv:30". */

import { describeRelation, needsCaller } from '../../decide/relations/all-kinds.ts'
import { quote } from '../../present/quote.ts'
import type { NeededChange } from './explanation.ts'
import type { SupposedRequest } from './supposed-request.ts'

/** For example `the caller` and `were owner`. */
interface Condition {
  readonly who: 'the caller' | 'the object'
  readonly what: string
}

export function missSentence(request: SupposedRequest, changes: readonly NeededChange[]): string {
  const conditions = changes.flatMap((change) => (change.kind === 'deny' ? [] : [conditionOf(request, change)]))
  const denies = changes.flatMap((change) => (change.kind === 'deny' ? [change.rule] : []))
  const condition = conditions.length > 0 ? `if ${joined(conditions)}` : ''
  const noun = denies.length > 1 ? 'denies' : 'deny'
  const without = denies.length > 0 ? `without the ${noun} ${denies.join(' and ')}` : ''
  return [condition, without].filter((part) => part !== '').join(', ')
}

/** Joins conditions; names the caller or the object only once for consecutive conditions. */
function joined(conditions: readonly Condition[]): string {
  const said = conditions.map(({ who, what }, i) => (who === conditions[i - 1]?.who ? what : `${who} ${what}`))
  return said.join(' and ')
}

function conditionOf(
  { parsed, resource }: SupposedRequest,
  change: Exclude<NeededChange, { kind: 'deny' }>,
): Condition {
  switch (change.kind) {
    case 'credentials':
      return { who: 'the caller', what: 'sent credentials' }
    case 'role':
      return { who: 'the caller', what: `had the role ${change.name}` }
    case 'user':
      return { who: 'the caller', what: `were ${quote(change.name)}` }
    case 'relation': {
      const relation = parsed.ownership.get(resource.name)?.relations.get(change.name)
      const asks = relation ? ` (${describeRelation(relation)})` : ''
      return {
        who: relation && !needsCaller(relation) ? 'the object' : 'the caller',
        what: `were ${change.name}${asks}`,
      }
    }
  }
}
