/** Finds what is declared and never used, and lines that are out of date. */

import type { Place } from '../../../base/diagnostic.ts'
import { timeText } from '../../../base/time.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { kindOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { lives } from '../../../decide/rules/rule-table.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import { CELL } from '../../../policy/parse/rule-lines.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import { check, type FoundAt, type PolicyCheck } from '../check.ts'
import { routedActions } from '../reach/writers.ts'

export const UNUSED: readonly PolicyCheck[] = [
  check({
    code: 'role-without-grant',
    find: ({ policy, index, placeOfKey }) => {
      const granted = new Set(policy.rules.filter(({ effect }) => effect === 'allow').map(({ subject }) => subject))
      granted.delete('everyone')
      return [...policy.roles.keys()]
        .filter((role) => index.subjectsOf(role).isDisjointFrom(granted))
        .map((role) => {
          const message = `nothing is granted to the role \`${role}\``
          const hint = 'write a line that allows something to it, or delete it'
          return { at: placeOfKey('roles.yaml', [role]), message, hint }
        })
    },
  }),
  check({
    code: 'unused-relation',
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
            return { at: place, message, hint: 'delete it, or use it in policy.csv' }
          }),
      )
    },
  }),
  check({
    code: 'unused-condition',
    find: ({ policy, written, placeOfKey }) => {
      const used = new Set(written.rules.flatMap(namesIn))
      return [...policy.conditions.keys()]
        .filter((name) => !used.has(name))
        .map((name) => {
          const message = `no line names the condition \`${name}\``
          return { at: placeOfKey('conditions.yaml', [name]), message, hint: 'delete it, or use it' }
        })
    },
  }),
  check({
    code: 'unused-view',
    find: ({ policy, written, resources, placeOfKey }) => {
      const used = namesUsed(written.rules, ({ views }) => views)
      const ofRoute = (resource: string, name: string) =>
        resources.byName.get(resource)?.routes.some(({ view }) => view === name)
      return [...policy.views].flatMap(([resource, views]) =>
        [...views.keys()]
          .filter((name) => !isUsed(used, resource, name) && !ofRoute(resource, name))
          .map((name) => {
            const message = `no line names the view \`${name}\` of \`${resource}\``
            return { at: placeOfKey('views.yaml', [resource, name]), message, hint: 'delete it, or use it' }
          }),
      )
    },
  }),
  check({
    code: 'rule-expired',
    find: ({ written, now, placeOfLine }) =>
      written.rules
        .filter((rule) => !lives(rule, now))
        .map(({ line, effect, until = now }) => {
          const verb = effect === 'allow' ? 'allows' : 'denies'
          const message = `this line ${verb} nothing any more: it ended at \`${timeText(until)}\``
          return { at: placeOfLine(line, CELL.until), message, hint: 'delete the line, or write a later time' }
        }),
  }),
  check({
    code: 'unknown-user',
    find: ({ policy, directory, placeOfLine }) =>
      policy.rules
        .filter(
          ({ subject }) => directory && subject.startsWith('user:') && !directory.has(subject.slice('user:'.length)),
        )
        .map(({ line, subject }) => unknownUser(placeOfLine(line, CELL.subject), subject)),
  }),
]

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

export function unknownUser(at: Place, subject: string): FoundAt {
  const hint = 'write the id as the directory has it, or delete the line'
  return { at, message: `the directory has no user \`${subject}\``, hint }
}
