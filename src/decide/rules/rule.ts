/** The fields and actions that the columns of a rule mean. */
import type { Action, Resource } from '../../resources/resource.ts'
import type { Rule, Views } from '../policy.ts'

interface About {
  readonly resource: Resource
  readonly action: Action
}

export function isAbout(rule: Rule, { resource, action }: About): boolean {
  return coversResource(rule, resource) && performs(rule, action)
}

export function coversResource(rule: Rule, { name, builtIn }: Resource): boolean {
  return rule.resource === name || rule.resource === (builtIn ? 'system/*' : '*')
}

export function performs({ actions }: Rule, { name }: Action): boolean {
  return actions.includes('*') || actions.includes(name)
}

/** Whether the rule names a field, in its fields column; `views` are those of the resource. */
export function ruleNames(views: Views | undefined, rule: Rule, field: string): boolean {
  return rule.views.some((view) => view === '*' || (views?.get(view)?.has(field) ?? false))
}

/** All fields that a decision about this action is about; the pseudo-field `*` for an action without. */
export function decidedFields({ resource, action }: About): readonly string[] {
  return action.hasFields ? [...resource.fields.keys()] : ['*']
}
