/** A near miss in words: "if the caller were owner (ownerId is the caller)", "without the deny policy.csv:30". */
import { describeRelation, needsCaller } from '../../decide/relations/all-kinds.ts'
import { describeCondition } from '../../decide/request-conditions/all-conditions.ts'
import { quote } from '../../present/quote.ts'
import type { NeededChange } from './explanation.ts'
import type { HypotheticalRequest } from './request.ts'

/** For example `the caller` and `were owner`. */
interface MissClause {
  readonly who: string
  readonly what: string
}

export function missSentence(request: HypotheticalRequest, changes: readonly NeededChange[]): string {
  const conditions = changes.flatMap((change) => (change.kind === 'deny' ? [] : [conditionOf(request, change)]))
  const denies = changes.flatMap((change) => (change.kind === 'deny' ? [change.rule] : []))
  const condition = conditions.length > 0 ? `if ${joined(conditions)}` : ''
  const noun = denies.length > 1 ? 'denies' : 'deny'
  const without = denies.length > 0 ? `without the ${noun} ${denies.join(' and ')}` : ''
  return [condition, without].filter((part) => part !== '').join(', ')
}

/** Joins conditions; names the caller or the object only once for consecutive conditions. */
function joined(conditions: readonly MissClause[]): string {
  const said = conditions.map(({ who, what }, i) => (who === conditions[i - 1]?.who ? what : `${who} ${what}`))
  return said.join(' and ')
}

function conditionOf(request: HypotheticalRequest, change: Exclude<NeededChange, { kind: 'deny' }>): MissClause {
  const { parsed } = request
  switch (change.kind) {
    case 'credentials':
      return { who: 'the caller', what: 'sent credentials' }
    case 'role':
      return { who: 'the caller', what: `had the role ${change.name}` }
    case 'user':
      return { who: 'the caller', what: `were ${quote(change.name)}` }
    case 'relation':
    case 'not-relation':
      return relationCondition(request, change)
    case 'result':
    case 'not-result': {
      const kind = change.kind === 'result' ? 'relation' : 'not-relation'
      const { what } = relationCondition(request, { kind, name: change.name })
      return { who: 'the object after the write', what }
    }
    case 'condition':
    case 'not-condition': {
      const condition = parsed.conditions.get(change.name)
      const asks = condition ? ` (${describeCondition(condition)})` : ''
      const verb = change.kind === 'condition' ? 'held' : 'did not hold'
      return { who: `the condition ${change.name}${asks}`, what: verb }
    }
  }
}

function relationCondition(
  { parsed, resource }: HypotheticalRequest,
  { kind, name }: { readonly kind: 'relation' | 'not-relation'; readonly name: string },
): MissClause {
  const relation = parsed.ownership.get(resource.name)?.relations.get(name)
  const asks = relation ? ` (${describeRelation(relation)})` : ''
  const who = relation && !needsCaller(relation) ? 'the object' : 'the caller'
  return { who, what: `${kind === 'relation' ? 'were' : 'were not'} ${name}${asks}` }
}
