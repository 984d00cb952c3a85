/** Lines of policy.csv that can be deleted, because the policy says the same without them. */
import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import type { RoleLink, Rule } from '../../../decide/policy.ts'
import { relationColumnText } from '../../../decide/rules/terms.ts'
import { CELL } from '../../../policy/parse/rule-lines.ts'
import { check, linesText, type PolicyCheck, warning } from '../check.ts'
import { findWithoutEffect, type RedundantRule } from '../reach/without-effect.ts'

export const REDUNDANT_LINES: readonly PolicyCheck[] = [
  check({
    code: 'duplicate-rule',
    find: ({ policy, placeOfLine }) =>
      [...duplicatesOf(policy.rules), ...linksTwice(policy.links)].map(([{ line }, first]) => ({
        at: placeOfLine(line),
        message: `this line says the same as line ${first.line}`,
        hint: 'delete one of them',
      })),
  }),
  check({
    code: 'implied-link',
    find: ({ policy: { links }, index, placeOfLine }) => {
      const repeated = linksTwice(links)
      const roles = Map.groupBy(
        links.filter((link) => !repeated.has(link)),
        ({ role }) => role,
      )
      return links.flatMap(({ line, role, inherits }) => {
        const through = (roles.get(role) ?? []).find(
          (one) => one.inherits !== inherits && index.subjectsOf(one.inherits).has(inherits),
        )
        if (!through) return []
        const message = `\`${role}\` inherits \`${inherits}\` already, through \`${through.inherits}\` (line ${through.line})`
        return [{ at: placeOfLine(line, CELL.inherits), message, hint: 'delete the line' }]
      })
    },
  }),
  {
    codes: ['rule-under-deny', 'rule-covered', 'deny-without-allow'],
    find: ({ policy, index, placeOfLine }) => {
      // Duplicate lines have a finding of their own; ten thousand of them would make each other redundant one by one.
      const duplicates = duplicatesOf(policy.rules)
      for (const rule of duplicates.keys()) index.remove(rule)
      const found = findWithoutEffect(
        index,
        policy.rules.filter((rule) => !duplicates.has(rule)),
      )
      for (const rule of duplicates.keys()) index.restore(rule)
      return found.map((one) => withoutEffect(one, placeOfLine(one.rule.line)))
    },
  },
]

/** All grants stay equal without the rule. */
function withoutEffect(redundant: RedundantRule, place: Place): Diagnostic {
  if (redundant.kind === 'nothing-to-deny') {
    const message = 'this deny takes nothing away: no caller that it matches is allowed any of it'
    return warning(place, 'deny-without-allow', message, 'delete it, or suppress this and give the reason')
  }
  const lines = linesText(redundant.by.map(({ line }) => line))
  if (redundant.kind === 'under-deny') {
    const verb = redundant.by.length === 1 ? 'denies' : 'deny'
    const message = `this allow can never take effect: ${lines} ${verb} all of it`
    return warning(place, 'rule-under-deny', message, 'delete it, or narrow the deny')
  }
  const verb = redundant.by.length === 1 ? "doesn't" : "don't"
  const ends = redundant.rule.until === undefined ? '' : `, which ${verb} end before it`
  const message = `this line adds nothing to ${lines}${ends}`
  return warning(place, 'rule-covered', message, 'delete it, or narrow the wider line')
}

/** Each rule that says the same as an earlier rule, with the first such rule. */
function duplicatesOf(rules: readonly Rule[]): ReadonlyMap<Rule, Rule> {
  return twice(rules, ({ subject, resource, actions, views, effect, until, ...column }) => [
    ...[subject, resource, actions.toSorted(), relationColumnText(column), views.toSorted(), effect, until],
  ])
}

function linksTwice(links: readonly RoleLink[]): ReadonlyMap<RoleLink, RoleLink> {
  return twice(links, ({ role, inherits }) => [role, inherits])
}

/** Each item with the same key as an earlier item, with the first such item. */
export function twice<T>(items: readonly T[], keyOf: (item: T) => readonly unknown[]): ReadonlyMap<T, T> {
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
