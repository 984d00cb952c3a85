/**
 * The rules about one action on one resource as regions: where each subject's rules allow and deny a field. It computes
 * the grants for all situations at once; a grant table computes them for one.
 */

import type { Policy, Rule } from '../decide/policy.ts'
import { decidedFields, ruleNames } from '../decide/rules/terms.ts'
import type { Action, Resource } from '../resources/resource.ts'
import { NOWHERE, type Region, type Regions } from './regions.ts'

/** Fields that no rule distinguishes. */
export type FieldClass = readonly string[]

/** The regions that rules allow and deny: one for each class of fields. */
export interface RuleRegions {
  readonly allow: readonly Region[]
  readonly deny: readonly Region[]
}

/** The rules of a policy about one action on one resource. */
export interface RulesAbout {
  readonly policy: Policy
  readonly rules: readonly Rule[]
  readonly resource: Resource
  readonly action: Action
}

interface Places {
  readonly regions: Regions
  readonly classes: readonly FieldClass[]
  /** The region in which the rule matches. */
  readonly where: (rule: Rule) => Region
}

/** The subject's own rules, without those that it inherits. */
export function regionsBySubject(
  about: RulesAbout,
  { regions, classes, where }: Places,
): ReadonlyMap<string, RuleRegions> {
  const named = fieldsNamed(about)
  const bySubject = new Map<string, { allow: Region[]; deny: Region[] }>()
  for (const rule of about.rules) {
    const nothing = () => classes.map(() => NOWHERE)
    const own = bySubject.get(rule.subject) ?? { allow: nothing(), deny: nothing() }
    bySubject.set(rule.subject, own)
    const ofEffect = own[rule.effect]
    const region = where(rule)
    for (const [i, [field = '*']] of classes.entries()) {
      if (named.get(columnOf(rule))?.has(field)) ofEffect[i] = regions.either(ofEffect[i] ?? NOWHERE, region)
    }
  }
  return bySubject
}

/** The rules of several subjects together. */
export function joinRegions(
  regions: Regions,
  some: readonly (RuleRegions | undefined)[],
  classes: number,
): RuleRegions {
  const join = (effect: keyof RuleRegions) =>
    Array.from({ length: classes }, (_, i) => regions.any(some.map((one) => one?.[effect][i] ?? NOWHERE)))
  return { allow: join('allow'), deny: join('deny') }
}

/** semantics.md, "What is granted". */
export function grantedBy(regions: Regions, { allow, deny }: RuleRegions): readonly Region[] {
  return allow.map((region, i) => regions.minus(region, deny[i] ?? NOWHERE))
}

/** The classes of fields that no rule of either policy distinguishes. */
export function fieldClasses(about: RulesAbout, other: RulesAbout): readonly FieldClass[] {
  const sets = [about, other].flatMap((one) => [...fieldsNamed(one).values()])
  const signature = (field: string) => sets.map((fields) => (fields.has(field) ? '1' : '0')).join('')
  return [...Map.groupBy(decidedFields(about), signature).values()]
}

/** The fields that each fields column of these rules names. */
function fieldsNamed({ policy, rules, resource }: RulesAbout): ReadonlyMap<string, ReadonlySet<string>> {
  const distinct = new Map(rules.map((rule) => [columnOf(rule), rule]))
  const fields = ['*', ...resource.fields.keys()]
  const namedBy = (rule: Rule) => fields.filter((field) => ruleNames(policy.views.get(resource.name), rule, field))
  return new Map([...distinct].map(([column, rule]) => [column, new Set(namedBy(rule))]))
}

function columnOf({ views }: Rule): string {
  return views.join('|')
}
