/** Duplicates: lines of policy.csv that say the same, role links that others imply, users blocked twice. */

import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import type { RoleLink, Rule } from '../../../decide/policy.ts'
import { relationColumnText } from '../../../decide/rules/terms.ts'
import { CELL, type CheckedBlocked, type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'

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
export function duplicatesOf(rules: readonly Rule[]): ReadonlyMap<Rule, Rule> {
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
