/** The rules of both policies about one resource and action, as regions: for which sets of relations each subject's rules allow and deny a field. */

import { coversResource, fieldsOf, ruleNames } from '../../../decide/grants/evaluate.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import type { Region } from '../../../decide/relations/regions.ts'
import type { Action, Resource } from '../../../resources/resource.ts'
import { type Side, type Sides, sidesOf } from '../change.ts'
import { type Identity, type RelationSpace, relationSpace } from './relation-space.ts'

/** Where rules allow and deny: one region for each class of fields. */
export interface RuleRegions {
  readonly allow: readonly Region[]
  readonly deny: readonly Region[]
}

interface RulesInSpace {
  readonly space: RelationSpace
  /** The subject's own rules, without those that it inherits. */
  readonly bySubject: Sides<ReadonlyMap<string, RuleRegions>>
}

export interface Topic extends RulesInSpace {
  readonly resource: Resource
  readonly action: Action
  /** Fields that no rule of either policy tells apart. */
  readonly classes: readonly (readonly string[])[]
  /** The same with relations told apart by their names, as the role level does, which knows no object. */
  readonly byName: RulesInSpace
}

/** Every action of every resource. Throws ReviewError for more relations than can be compared. */
export function* topicsOf(policies: Sides<Policy>, resources: Iterable<Resource>): Iterable<Topic> {
  for (const resource of resources) {
    const about = sidesOf((side) => policies[side].rules.filter((rule) => coversResource(rule, resource)))
    for (const action of resource.actions.values()) {
      const rules = sidesOf((side) => about[side].filter(({ actions }) => names(actions, action)))
      yield topicOf(policies, rules, { resource, action })
    }
  }
}

/** The rules of several subjects together. */
export function joinRegions(regions: readonly (RuleRegions | undefined)[], classes: number): RuleRegions {
  const join = (effect: keyof RuleRegions) =>
    Array.from({ length: classes }, (_, i) => regions.reduce((sum, one) => sum | (one?.[effect][i] ?? 0n), 0n))
  return { allow: join('allow'), deny: join('deny') }
}

/** semantics.md, "What is granted". */
export function grantedBy({ allow, deny }: RuleRegions): readonly Region[] {
  return allow.map((region, i) => region & ~(deny[i] ?? 0n))
}

function names(actions: readonly string[], { name }: Action): boolean {
  return actions.includes('*') || actions.includes(name)
}

function topicOf(
  policies: Sides<Policy>,
  rules: Sides<readonly Rule[]>,
  subject: { readonly resource: Resource; readonly action: Action },
): Topic {
  const namedBy = sidesOf((side) => viewsNamed(policies[side], rules[side], subject.resource))
  const classes = [...Map.groupBy(fieldsOf(subject), (field) => namedSignature(namedBy, field)).values()]
  const placeIn = (identity: Identity): RulesInSpace => {
    const space = relationSpace(policies, rules, subject, identity)
    const bySubject = sidesOf((side) => {
      const regions = new Map<string, { allow: Region[]; deny: Region[] }>()
      for (const rule of rules[side]) addRule(regions, rule, { space, side, classes, named: namedBy[side] })
      return regions
    })
    return { space, bySubject }
  }
  return { ...subject, classes, ...placeIn('meaning'), byName: placeIn('name') }
}

interface Reading {
  readonly space: RelationSpace
  readonly side: Side
  readonly classes: Topic['classes']
  readonly named: ReadonlyMap<string, ReadonlySet<string>>
}

function addRule(
  bySubject: Map<string, { allow: Region[]; deny: Region[] }>,
  rule: Rule,
  { space, side, classes, named }: Reading,
): void {
  const nothing = () => classes.map(() => 0n)
  const own = bySubject.get(rule.subject) ?? { allow: nothing(), deny: nothing() }
  bySubject.set(rule.subject, own)
  const regions = own[rule.effect]
  const where = space.fits(side, rule)
  for (const [i, [field = '*']] of classes.entries()) {
    if (named.get(columnOf(rule))?.has(field)) regions[i] = (regions[i] ?? 0n) | where
  }
}

/** The fields that each fields column of these rules names. */
function viewsNamed(
  policy: Policy,
  rules: readonly Rule[],
  resource: Resource,
): ReadonlyMap<string, ReadonlySet<string>> {
  const distinct = new Map(rules.map((rule) => [columnOf(rule), rule]))
  const fields = ['*', ...resource.fields.keys()]
  return new Map(
    [...distinct].map(([column, rule]) => [
      column,
      new Set(fields.filter((field) => ruleNames(policy, rule, resource, field))),
    ]),
  )
}

function columnOf({ views }: Rule): string {
  return views.join('|')
}

function namedSignature(namedBy: Sides<ReadonlyMap<string, ReadonlySet<string>>>, field: string): string {
  const sets = [...namedBy.before.values(), ...namedBy.after.values()]
  return sets.map((fields) => (fields.has(field) ? '1' : '0')).join('')
}
