/**
 * The scope of a rule: its cells for resource, actions, relations and views, each checked against the declared names.
 */
import { didYouMean, oneOf } from '../../base/did-you-mean.ts'
import type { Ownership, Role, Rule, Views } from '../../decide/policy.ts'
import { type Resource, type Resources, wildcardOf } from '../../resources/resource.ts'
import { meantAction } from './meant-action.ts'
import { parseRelationColumn } from './relation-column.ts'
import type { CellFault } from './rule-columns.ts'

/** The names that the cells of a rule may use. */
export interface RuleVocabulary {
  readonly resources: Resources
  readonly roles: ReadonlyMap<string, Role>
  readonly ownership: ReadonlyMap<string, Ownership>
  readonly views: ReadonlyMap<string, Views>
  /** The names of conditions.yaml. */
  readonly conditions: ReadonlySet<string>
}

/** Columns of a `p` line; 0 is the `p` itself. */
export const SCOPE_COLUMN = { subject: 1, resource: 2, action: 3, relation: 4, fields: 5, effect: 6 } as const

/** The subject, resource and action of a rule: cells that it shares with many other rules. */
export type RuleScope = Pick<Rule, 'resource' | 'actions' | 'before' | 'after' | 'views'>

/** Undefined if there is a fault, which is reported. */
export function parseScope(
  [resource, action, relation, fields]: readonly [string, string, string, string],
  vocabulary: RuleVocabulary,
  fault: CellFault,
): RuleScope | undefined {
  const covered = coveredResources(resource, vocabulary.resources)
  if (!soundResource(resource, covered, vocabulary, fault)) return undefined
  const actions = split(action, '|')
  const views = split(fields, '|')
  const { resources, ownership, conditions } = vocabulary
  const column = parseRelationColumn(relation, { resources, ownership, conditions, covered, actions }, fault)
  const sound = [
    soundActions(actions, covered, fault),
    column !== undefined,
    soundViews(views, covered, vocabulary, fault),
  ]
  if (!column || sound.includes(false)) return undefined
  return { resource, actions, ...column, views }
}

function soundResource(
  resource: string,
  covered: readonly Resource[],
  { resources }: RuleVocabulary,
  fault: CellFault,
): boolean {
  if (covered.length > 0) return true
  const known = [...resources.byName.keys(), '*', 'system/*']
  const hint = () => oneOf(resource, known)
  fault(SCOPE_COLUMN.resource, 'unknown-resource', `no schema declares the resource \`${resource}\``, hint)
  return false
}

function soundActions(actions: readonly string[], covered: readonly Resource[], fault: CellFault): boolean {
  const known = new Set(covered.flatMap((resource) => [...resource.actions.keys()]))
  return soundNames(
    actions,
    '*',
    (name) => {
      if (known.has(name)) return true
      const hint = () => `write one of ${[...known].join(', ')}, or * for all${meantAction(name, known)}`
      fault(SCOPE_COLUMN.action, 'unknown-action', `the action \`${name}\` is not known here`, hint)
      return false
    },
    (message) =>
      fault(SCOPE_COLUMN.action, 'action-list', message, 'write each name once, or * alone, as in: list|read'),
  )
}

function soundViews(
  views: readonly string[],
  covered: readonly Resource[],
  vocabulary: RuleVocabulary,
  fault: CellFault,
): boolean {
  const known = new Set(covered.flatMap(({ name }) => [...(vocabulary.views.get(name)?.keys() ?? [])]))
  return soundNames(
    views,
    '*',
    (name) => {
      if (known.has(name)) return true
      const hint = () => `declare it in views.yaml, or write * for all fields${didYouMean(name, known)}`
      fault(SCOPE_COLUMN.fields, 'unknown-view', `the view \`${name}\` is not declared for this resource`, hint)
      return false
    },
    (message) =>
      fault(SCOPE_COLUMN.fields, 'view-list', message, 'write each name once, or * alone, as in: public|contact'),
  )
}

/** Checks that every name is known, none appears twice, and the name that means "all" appears alone. */
function soundNames(
  names: readonly string[],
  whole: string,
  isKnown: (name: string) => boolean,
  fault: (message: string) => void,
): boolean {
  if (names.length === 1 && names[0] === whole) return true
  if (names.includes(whole)) {
    fault(`the cell has \`${whole}\` and other names`)
    return false
  }
  if (new Set(names).size < names.length) {
    fault('the cell has a name twice')
    return false
  }
  return names.map(isKnown).every(Boolean)
}

export function coveredResources(resource: string, { byName }: Resources): readonly Resource[] {
  const exact = byName.get(resource)
  if (exact) return [exact]
  return [...byName.values()].filter(({ name }) => wildcardOf(name) === resource)
}

function split(cell: string, separator: string): string[] {
  return cell.split(separator)
}
