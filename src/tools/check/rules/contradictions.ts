/** Finds rules whose relation column fits no object, or no write: terms that exclude one another, results out of reach. */

import type { ActionRules } from '../../../analysis/action-rules.ts'
import { NOWHERE } from '../../../analysis/regions.ts'
import type { Rule } from '../../../decide/policy.ts'
import { comparedFields, leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { namesIn, relationColumnText } from '../../../decide/rules/terms.ts'
import { CELL, type CheckedPolicy, type PolicyCheck, ruleCheck } from '../check.ts'

export const contradictions: PolicyCheck<CheckedPolicy> = ruleCheck(
  {
    code: 'rule-never-matches',
    meaning:
      'The names in the relation column can never hold together, or no write leads from the left side to the right ' +
      'side: two values of one field, a relation and its opposite inside of `all` or `any`, a field that never changes',
    mend: 'Correct the names, write two lines, or delete the line',
  },
  CELL.relation,
  (rule, { index }) => {
    if (!index.isContradiction(rule)) return undefined
    const column = relationColumnText(rule)
    const message = rule.after
      ? `no write can be \`${column}\`: the names exclude one another`
      : `no object can be \`${column}\`: the names exclude one another`
    const nothing = rule.effect === 'deny' ? '; this line denies nothing now' : ''
    return { message, hint: `correct the names, or delete the line${nothing}` }
  },
)

export const transitionsWithoutField: PolicyCheck<CheckedPolicy> = ruleCheck(
  {
    code: 'transition-without-field',
    meaning:
      'The line allows a change from its left side to its right side, but no line grants the field that must change, ' +
      'so the write is always refused',
    mend: 'Name a view with this field in the fields column',
  },
  CELL.fields,
  (rule, checked) => {
    const places = checked.index.placesOf(rule)
    if (rule.effect !== 'allow' || !rule.after || places.length === 0) return undefined
    const missing = places.map((actionRules) => fieldsMissing(actionRules, rule, checked))
    const [first] = missing
    if (!first || missing.some((fields) => fields.length === 0)) return undefined
    const fields = first.map((name) => `\`${name}\``).join(' or ')
    const message = `\`${relationColumnText(rule)}\` changes ${fields}, which no line grants: the write is always refused`
    return { message, hint: 'name a view with this field' }
  },
)

/** One of these fields must change; empty if an allow about the action names one of them. */
function fieldsMissing(actionRules: ActionRules, rule: Rule, { policy }: CheckedPolicy): readonly string[] {
  const { space, resource } = actionRules
  const region = actionRules.placed(rule)?.region ?? NOWHERE
  const bits = [...actionRules.extents('allow', actionRules.subjects('allow'))].reduce(
    (sum, one) => sum | one.fields,
    0n,
  )
  const granted = new Set([...resource.fields.keys()].filter((_, bit) => ((bits >> BigInt(bit)) & 1n) === 1n))
  const isKept = (leaf: Relation) => comparedFields(leaf).every((field) => !granted.has(field))
  const kept = space.regions.all([region, space.second, space.whereKept(isKept)])
  if (kept !== NOWHERE) return []
  const relations = policy.ownership.get(resource.name)?.relations
  const leaves = namesIn(rule).flatMap((name) => {
    const relation = relations?.get(name)
    return relation ? leavesOf(relation) : []
  })
  return [...new Set(leaves.filter(isKept).flatMap(comparedFields))]
}
