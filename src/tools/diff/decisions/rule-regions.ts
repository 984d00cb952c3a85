/** What the rules of both policies say about one resource and action: per subject and field, where it is allowed or denied. */

import { coversResource, fieldsOf, ruleNames } from '../../../decide/grants/evaluate.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import type { Action, Resource } from '../../../resources/resource.ts'
import {
  type Identity,
  type Region,
  type RelationSpace,
  relationSpace,
  type Side,
  type Sides,
  sidesOf,
} from './relation-space.ts'

/** Regions by class of fields. */
export interface Said {
  readonly allow: readonly Region[]
  readonly deny: readonly Region[]
}

/** What is said, in regions of a space. */
interface Speech {
  readonly space: RelationSpace
  /** By subject, as its own rules say it: not what it inherits. */
  readonly said: Sides<ReadonlyMap<string, Said>>
}

export interface Topic extends Speech {
  readonly resource: Resource
  readonly action: Action
  /** Fields that no rule of either policy tells apart. */
  readonly classes: readonly (readonly string[])[]
  /** With relations told apart by their names, as the role level does, which knows no object. */
  readonly byName: Speech
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

/** What several subjects say together. */
export function together(said: readonly (Said | undefined)[], classes: number): Said {
  const join = (effect: keyof Said) =>
    Array.from({ length: classes }, (_, i) => said.reduce((sum, one) => sum | (one?.[effect][i] ?? 0n), 0n))
  return { allow: join('allow'), deny: join('deny') }
}

/** semantics.md, "What is granted". */
export function grantedBy({ allow, deny }: Said): readonly Region[] {
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
  const classes = [...Map.groupBy(fieldsOf(subject), (field) => signature(namedBy, field)).values()]
  const speech = (identity: Identity): Speech => {
    const space = relationSpace(policies, rules, subject, identity)
    const said = sidesOf((side) => {
      const bySubject = new Map<string, { allow: Region[]; deny: Region[] }>()
      for (const rule of rules[side]) add(bySubject, rule, { space, side, classes, named: namedBy[side] })
      return bySubject
    })
    return { space, said }
  }
  return { ...subject, classes, ...speech('meaning'), byName: speech('name') }
}

interface Words {
  readonly space: RelationSpace
  readonly side: Side
  readonly classes: Topic['classes']
  readonly named: ReadonlyMap<string, ReadonlySet<string>>
}

function add(bySubject: Map<string, { allow: Region[]; deny: Region[] }>, rule: Rule, words: Words): void {
  const { space, side, classes, named } = words
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

function signature(namedBy: Sides<ReadonlyMap<string, ReadonlySet<string>>>, field: string): string {
  const sets = [...namedBy.before.values(), ...namedBy.after.values()]
  return sets.map((fields) => (fields.has(field) ? '1' : '0')).join('')
}
