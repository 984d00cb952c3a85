/** Finds what is declared and never used, and lines that are out of date. */

import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import { timeText } from '../../../base/time.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { kindOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { lives } from '../../../decide/rules/rule-table.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import { CELL, type CheckedBlocked, type CheckedPolicy, type CodeEntry, type PolicyCheck, warning } from '../check.ts'
import { routedActions } from '../reach/writers.ts'

export const rolesWithoutGrant: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'role-without-grant',
      meaning: 'No allow names the role or one that it inherits: its holders may do what `everyone` may, and no more',
      mend: 'Write a line that allows something to the role, let it inherit one (`g`), or delete it from `roles.yaml`',
    },
  ],
  find: ({ policy, index, placeOfKey }) => {
    const granted = new Set(policy.rules.filter(({ effect }) => effect === 'allow').map(({ subject }) => subject))
    granted.delete('everyone')
    return [...policy.roles.keys()]
      .filter((role) => index.subjectsOf(role).isDisjointFrom(granted))
      .map((role) => {
        const message = `nothing is granted to the role \`${role}\``
        const hint = 'write a line that allows something to it, or delete it'
        return warning(placeOfKey('roles.yaml', [role]), 'role-without-grant', message, hint)
      })
  },
}

export const unusedRelations: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'unused-relation',
      meaning:
        'No line of `policy.csv` names the relation for this resource, and no other relation rests on it (`owner` is ' +
        'reported only if no route creates objects, because it also sets the owner of a new object)',
      mend: 'Delete it from `ownership.yaml`, or use it',
    },
  ],
  find: ({ policy, written, resources, placeOfKey }) => {
    const used = namesUsed(written.rules, namesIn)
    const parts = relationsInOthers(policy)
    return [...policy.ownership].flatMap(([resource, { relations }]) =>
      [...relations.keys()]
        .filter((name) => !isUsed(used, resource, name) && !(name === 'owner' && creates(resources, resource)))
        .filter((name) => !parts.has(relations.get(name)) && !fills(relations.get(name)))
        .map((name) => {
          const place = placeOfKey('ownership.yaml', [resource, 'relations', name])
          const message = `no line names the relation \`${name}\` of \`${resource}\``
          return warning(place, 'unused-relation', message, 'delete it, or use it in policy.csv')
        }),
    )
  },
}

/** The relations on which others rest. */
function relationsInOthers({ ownership }: Policy): ReadonlySet<Relation | undefined> {
  const all = [...ownership.values()].flatMap(({ relations }) => [...relations.values()])
  return new Set(
    all.flatMap((relation) => {
      const { parts, step } = kindOf(relation)
      return [...(parts?.(relation).of ?? []), ...(step ? [step(relation).relation] : [])]
    }),
  )
}

function fills(relation: Relation | undefined): boolean {
  return relation !== undefined && relation.name !== 'owner' && (kindOf(relation).equates?.(relation)?.fill ?? false)
}

export const unusedConditions: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'unused-condition',
      meaning: 'No line of `policy.csv` names the condition',
      mend: 'Delete it from `conditions.yaml`, or use it',
    },
  ],
  find: ({ policy, written, placeOfKey }) => {
    const used = new Set(written.rules.flatMap(namesIn))
    return [...policy.conditions.keys()]
      .filter((name) => !used.has(name))
      .map((name) => {
        const message = `no line names the condition \`${name}\``
        return warning(placeOfKey('conditions.yaml', [name]), 'unused-condition', message, 'delete it, or use it')
      })
  },
}

export const unusedViews: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'unused-view',
      meaning: 'No line of `policy.csv` and no route of the schema names the view for this resource',
      mend: 'Delete it from `views.yaml`, or use it',
    },
  ],
  find: ({ policy, written, resources, placeOfKey }) => {
    const used = namesUsed(written.rules, ({ views }) => views)
    const ofRoute = (resource: string, name: string) =>
      resources.byName.get(resource)?.routes.some(({ view }) => view === name)
    return [...policy.views].flatMap(([resource, views]) =>
      [...views.keys()]
        .filter((name) => !isUsed(used, resource, name) && !ofRoute(resource, name))
        .map((name) => {
          const message = `no line names the view \`${name}\` of \`${resource}\``
          return warning(placeOfKey('views.yaml', [resource, name]), 'unused-view', message, 'delete it, or use it')
        }),
    )
  },
}

/** The names that rules use, by their resource column. Only data resources have relations and views. */
function namesUsed(
  rules: readonly Rule[],
  namesOf: (rule: Rule) => readonly string[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const byResource = Map.groupBy(rules, ({ resource }) => resource)
  return new Map([...byResource].map(([resource, some]) => [resource, new Set(some.flatMap(namesOf))]))
}

function isUsed(used: ReadonlyMap<string, ReadonlySet<string>>, resource: Resource['name'], name: string): boolean {
  return [resource, '*'].some((pattern) => used.get(pattern)?.has(name) ?? false)
}

function creates({ byName }: Resources, name: string): boolean {
  const resource = byName.get(name)
  return resource !== undefined && routedActions(resource).has('create')
}

// ---- Finds lines that are out of date: rules and blocks that have ended, and users that are not in the directory.

export const expiredRules: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'rule-expired',
      meaning: 'The rule has ended: the server and all other checks ignore the line',
      mend: 'Delete the line, or write a later time',
    },
  ],
  find: ({ written, now, placeOfLine }) =>
    written.rules
      .filter((rule) => !lives(rule, now))
      .map(({ line, effect, until = now }) => {
        const verb = effect === 'allow' ? 'allows' : 'denies'
        const message = `this line ${verb} nothing any more: it ended at \`${timeText(until)}\``
        return warning(placeOfLine(line, CELL.until), 'rule-expired', message, 'delete the line, or write a later time')
      }),
}

export const expiredBlocks: PolicyCheck<CheckedBlocked> = {
  codes: [
    {
      code: 'block-expired',
      meaning: 'The block has ended: the line blocks nobody',
      mend: 'Delete the line, or write a later time',
    },
  ],
  find: ({ blocks, now }) =>
    blocks
      .filter(({ until }) => until !== undefined && until <= now)
      .map(({ id, place }) => {
        const message = `\`user:${id}\` is no longer blocked: the block has ended`
        return warning(place, 'block-expired', message, 'delete the line, or write a later time')
      }),
}

const unknownUser: readonly CodeEntry[] = [
  {
    code: 'unknown-user',
    meaning:
      'A line names a user that is not in the directory, perhaps because of a typing error (only with `--directory`)',
    mend:
      'Write the id as the directory has it; for a user who will be added later, suppress the warning and give the ' +
      'reason',
  },
]

export const unknownUsersInRules: PolicyCheck<CheckedPolicy> = {
  codes: unknownUser,
  find: ({ policy, directory, placeOfLine }) => {
    if (!directory) return []
    return policy.rules
      .filter(({ subject }) => subject.startsWith('user:') && !directory.has(subject.slice('user:'.length)))
      .map(({ line, subject }) => neverSeen(placeOfLine(line, CELL.subject), subject))
  },
}

export const unknownUsersInBlocked: PolicyCheck<CheckedBlocked> = {
  codes: unknownUser,
  find: ({ blocks, directory }) => {
    if (!directory) return []
    return blocks.filter(({ id }) => !directory.has(id)).map(({ id, place }) => neverSeen(place, `user:${id}`))
  },
}

function neverSeen(place: Place, subject: string): Diagnostic {
  const hint = 'write the id as the directory has it, or delete the line'
  return warning(place, 'unknown-user', `the directory has no user \`${subject}\``, hint)
}
