/** Lines that can be deleted: duplicates, rules without effect, and rules that fit nothing. */

import type { ActionRules } from '../../../analysis/action-rules.ts'
import { NOWHERE } from '../../../analysis/regions.ts'
import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import type { RoleLink, Rule } from '../../../decide/policy.ts'
import { comparedFields, leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { namesIn, relationColumnText } from '../../../decide/rules/terms.ts'
import {
  CELL,
  type CheckedBlocked,
  type CheckedPolicy,
  linesText,
  type PolicyCheck,
  ruleCheck,
  warning,
} from '../check.ts'
import { findWithoutEffect, type NeedlessRule } from '../reach/without-effect.ts'

export const duplicateRules: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'duplicate-rule',
      meaning:
        'The line says the same as an earlier one; the order of names in a cell, spaces, and the format of the end ' +
        'time make no difference',
      mend: 'Delete the line, or correct it',
    },
  ],
  find: ({ policy, placeOfLine }) =>
    [...duplicatesOf(policy.rules), ...linksTwice(policy.links)].map(([{ line }, first]) =>
      warning(
        placeOfLine(line),
        'duplicate-rule',
        `this line says the same as line ${first.line}`,
        'delete one of them',
      ),
    ),
}

/** Each rule that says the same as an earlier rule, with the first such rule. */
function duplicatesOf(rules: readonly Rule[]): ReadonlyMap<Rule, Rule> {
  const meaning = ({ subject, resource, actions, before, after, views, effect, until }: Rule) =>
    [
      subject,
      resource,
      actions.toSorted(),
      relationColumnText({ before, ...(after ? { after } : {}) }),
      views.toSorted(),
      effect,
      until,
    ] as const
  return twice(rules, meaning)
}

export const impliedLinks: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'implied-link',
      meaning: 'The `g` line links roles that other `g` lines link already, through a third role',
      mend: 'Delete the line',
    },
  ],
  find: ({ policy: { links }, index, placeOfLine }) => {
    const repeated = linksTwice(links)
    const roles = Map.groupBy(
      links.filter((link) => !repeated.has(link)),
      ({ role }) => role,
    )
    return links.flatMap((link) => {
      const through = (roles.get(link.role) ?? []).find(
        ({ inherits }) => inherits !== link.inherits && index.subjectsOf(inherits).has(link.inherits),
      )
      return through ? [impliedLink(link, through, placeOfLine(link.line, CELL.inherits))] : []
    })
  },
}

function impliedLink({ role, inherits }: RoleLink, through: RoleLink, place: Place): Diagnostic {
  const message = `\`${role}\` inherits \`${inherits}\` already, through \`${through.inherits}\` (line ${through.line})`
  return warning(place, 'implied-link', message, 'delete the line')
}

export const duplicateBlocks: PolicyCheck<CheckedBlocked> = {
  codes: [
    {
      code: 'duplicate-block',
      meaning: '`blocked.txt` names a user twice; the line that blocks longest counts',
      mend: 'Delete the line that blocks for a shorter time',
    },
  ],
  find: ({ blocks }) =>
    [...twice(blocks, ({ id }) => [id])].map(([{ id, place }, first]) => {
      const message = `\`user:${id}\` is blocked in line ${first.place.line} too; the line that blocks longest counts`
      return warning(place, 'duplicate-block', message, 'delete one of them')
    }),
}

function linksTwice(links: readonly RoleLink[]): ReadonlyMap<RoleLink, RoleLink> {
  return twice(links, ({ role, inherits }) => [role, inherits])
}

/** Each item with the same key as an earlier item, with the first such item. */
function twice<T>(items: readonly T[], keyOf: (item: T) => readonly unknown[]): ReadonlyMap<T, T> {
  const first = new Map<string, T>()
  const found = new Map<T, T>()
  for (const item of items) {
    const key = JSON.stringify(keyOf(item))
    const known = first.get(key)
    if (known === undefined) first.set(key, item)
    else found.set(item, known)
  }
  return found
}

// ---- Rules without effect: all grants stay equal without them. reach/without-effect.ts finds them.

export const rulesWithoutEffect: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'rule-under-deny',
      meaning: 'The allow can never take effect: a deny, which always wins, takes away everything that it grants',
      mend: 'Delete the line, or narrow the deny that the message names',
    },
    {
      code: 'rule-covered',
      meaning: 'The line adds nothing: the lines that the message names already say all of it, about the same callers',
      mend: 'Delete the line; if it should be narrower than the other line, delete or narrow that one',
    },
    {
      code: 'deny-without-allow',
      meaning:
        'The deny takes nothing away: no caller that it matches is allowed any of it, or other denies already take ' +
        'it away',
      mend:
        'Delete the line; to keep it as a safeguard against a later allow, suppress the warning and give ' +
        'the reason',
    },
  ],
  find: ({ policy, index, placeOfLine }) => {
    // Duplicate lines have a finding of their own; ten thousand of them would make each other needless one by one.
    const duplicates = duplicatesOf(policy.rules)
    for (const rule of duplicates.keys()) index.remove(rule)
    const found = findWithoutEffect(
      index,
      policy.rules.filter((rule) => !duplicates.has(rule)),
    )
    for (const rule of duplicates.keys()) index.restore(rule)
    return found.map((one) => findingOf(one, placeOfLine(one.rule.line)))
  },
}

function findingOf(needless: NeedlessRule, place: Place): Diagnostic {
  if (needless.kind === 'nothing-to-deny') {
    const message = 'this deny takes nothing away: no caller that it matches is allowed any of it'
    return warning(place, 'deny-without-allow', message, 'delete it, or suppress this and give the reason')
  }
  const lines = linesText(needless.by.map(({ line }) => line))
  if (needless.kind === 'under-deny') {
    const verb = needless.by.length === 1 ? 'denies' : 'deny'
    const message = `this allow can never take effect: ${lines} ${verb} all of it`
    return warning(place, 'rule-under-deny', message, 'delete it, or narrow the deny')
  }
  const verb = needless.by.length === 1 ? "doesn't" : "don't"
  const ends = needless.rule.until === undefined ? '' : `, which ${verb} end before it`
  return warning(
    place,
    'rule-covered',
    `this line adds nothing to ${lines}${ends}`,
    'delete it, or narrow the wider line',
  )
}

// ---- Finds rules whose relation column fits no object, or no write: terms that exclude one another, results out of
// reach.

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
