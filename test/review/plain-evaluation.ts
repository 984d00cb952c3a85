/** semantics.md, "What is granted", rule by rule: what tests hold tools to. */
import type { Policy, Rule } from '../../src/decide/policy.ts'
import { decidedFields, isAbout, performs, ruleNames } from '../../src/decide/rules/terms.ts'
import type { Action, Resource } from '../../src/resources/resource.ts'

/** Everything that a decision depends on; `subjects` include `everyone` and what roles inherit. */
interface Situation {
  readonly subjects: ReadonlySet<string>
  readonly resource: Resource
  readonly action: Action
  readonly relations: ReadonlySet<string>
}

interface Verdict {
  /** The granted fields; the pseudo-field `*` for an action without fields. Empty: refused. */
  readonly fields: ReadonlySet<string>
  readonly denies: readonly Rule[]
}

/** What stands left of `>`, on the object as it is stored; a deny with a right side says nothing yet. */
function fits(
  { before, after, effect }: Rule,
  { ownership, conditions }: Policy,
  { resource, action, relations }: Situation,
): boolean {
  if (effect === 'deny' && after) return false
  // `options` concerns no object; and a rule for `*` may name a relation that this resource lacks.
  const related = action.name === 'options' ? undefined : ownership.get(resource.name)?.relations
  const names = [...before, ...(after ?? [])].map(({ name }) => name)
  if (names.some((name) => !conditions.has(name) && !related?.has(name))) return false
  return before.every(({ name, negated }) => relations.has(name) !== negated)
}

export function evaluate(policy: Policy, situation: Situation): Verdict {
  const { rules, views } = policy
  const { subjects, resource, action } = situation
  const matching = rules.filter(
    (rule) => subjects.has(rule.subject) && isAbout(rule, situation) && fits(rule, policy, situation),
  )
  const allows = matching.filter(({ effect }) => effect === 'allow')
  const denies = matching.filter(({ effect }) => effect === 'deny')
  const names = (some: readonly Rule[], field: string) =>
    some.some((rule) => ruleNames(views.get(resource.name), rule, field))
  const isAllowed = (field: string) =>
    [action, ...(action.also ? [action.also] : [])].every((one) => {
      return names(
        allows.filter((rule) => performs(rule, one)),
        field,
      )
    })
  const granted = decidedFields(situation).filter((field) => isAllowed(field) && !names(denies, field))
  return { fields: new Set(granted), denies }
}
