/** semantics.md, "What is granted", rule by rule: what tests hold tools to. */
import type { Policy, Rule } from '../../src/decide/policy.ts'
import { decidedFields, isAbout, ruleNames } from '../../src/decide/rules/rule.ts'
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

export function evaluate({ rules, views }: Policy, situation: Situation): Verdict {
  const { subjects, resource, relations } = situation
  const matching = rules.filter(
    (rule) =>
      subjects.has(rule.subject) && isAbout(rule, situation) && rule.relations.every((name) => relations.has(name)),
  )
  const allows = matching.filter(({ effect }) => effect === 'allow')
  const denies = matching.filter(({ effect }) => effect === 'deny')
  const names = (some: readonly Rule[], field: string) =>
    some.some((rule) => ruleNames(views.get(resource.name), rule, field))
  const granted = decidedFields(situation).filter((field) => names(allows, field) && !names(denies, field))
  return { fields: new Set(granted), denies }
}
