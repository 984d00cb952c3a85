/** The parts of a policy that a request may need: lines, their actions, views and terms, and the fields of views. */
import type { Policy, Rule, Term } from '../../decide/policy.ts'
import { coversResource, termText } from '../../decide/rules/terms.ts'
import type { Resource, Resources } from '../../resources/resource.ts'

/** A part of a line. `rule`: the line without it; undefined for the whole line. */
interface LinePart {
  readonly kind: 'line' | 'action' | 'view' | 'term'
  readonly of: Rule
  /** An action, a view, or a term; of a right side with its `>`. Empty for the whole line. */
  readonly name: string
  readonly rule: Rule | undefined
}

interface FieldPart {
  readonly kind: 'field'
  readonly resource: string
  readonly view: string
  /** The field. */
  readonly name: string
}

export type PolicyPart = LinePart | FieldPart

/** In the order of the lines; each line before its parts. */
export function policyParts({ rules, views }: Policy, resources: Resources): readonly PolicyPart[] {
  const ofViews = [...views].flatMap(([resource, named]) =>
    [...named].flatMap(([view, fields]) =>
      [...fields].map((name): FieldPart => ({ kind: 'field', resource, view, name })),
    ),
  )
  return [...rules.flatMap((rule) => partsOfLine(rule, resources)), ...ofViews]
}

function partsOfLine(rule: Rule, resources: Resources): readonly LinePart[] {
  const part = (kind: LinePart['kind'], name: string, changed?: Rule): LinePart => ({
    kind,
    of: rule,
    name,
    rule: changed,
  })
  const actions = actionsOf(rule, resources)
  const { views, before, after = [] } = rule
  const { after: _, ...leftSide } = rule
  return [
    part('line', ''),
    ...others(actions).map(([name, left]) => part('action', name, { ...rule, actions: left })),
    ...others(views).map(([name, left]) => part('view', name, { ...rule, views: left })),
    ...before.map((term, i) => part('term', termText(term), { ...rule, before: before.toSpliced(i, 1) })),
    ...after.map((term, i) => part('term', `>${termText(term)}`, withResult(leftSide, after.toSpliced(i, 1)))),
  ]
}

function withResult(rule: Rule, after: readonly Term[]): Rule {
  return after.length === 0 ? rule : { ...rule, after }
}

/** Of several names, each with the others. */
function others(names: readonly string[]): readonly (readonly [name: string, left: readonly string[]])[] {
  return names.length < 2 ? [] : names.map((name, i) => [name, names.toSpliced(i, 1)])
}

/** What a line of policy.csv can do without. */
export type GrantPart = LinePart

/** The line without these of its grants. Undefined where nothing of it stays. */
export function lineWithout(rule: Rule, grants: readonly GrantPart[]): Rule | undefined {
  const own = grants.filter(({ of }) => of === rule)
  if (own.some(({ kind }) => kind === 'line')) return undefined
  const gone = (kind: GrantPart['kind']) => new Set(own.flatMap((one) => (one.kind === kind ? [one.name] : [])))
  const [actions, views] = [gone('action'), gone('view')]
  const first = own.find(({ kind }) => kind === 'action')
  const all = rule.actions.includes('*') && first?.rule ? [first.name, ...first.rule.actions] : rule.actions
  return {
    ...rule,
    actions: all.filter((name) => !actions.has(name)),
    views: rule.views.filter((name) => !views.has(name)),
  }
}

/** With `*`, all that the schemas declare. */
function actionsOf(rule: Rule, { byName }: Resources): readonly string[] {
  if (!rule.actions.includes('*')) return rule.actions
  const covered = [...byName.values()].filter((resource) => coversResource(rule, resource))
  return [...new Set(covered.flatMap(({ actions }) => [...actions.keys()]))]
}

export function concerns(part: PolicyPart, resource: Resource): boolean {
  return part.kind === 'field' ? part.resource === resource.name : coversResource(part.of, resource)
}

/** The policy without the part, as far as it is about one resource. */
export function withoutPart(policy: Policy, part: PolicyPart | undefined, resource: Resource): Policy {
  const about = policy.rules.filter((rule) => coversResource(rule, resource))
  if (part === undefined) return { ...policy, rules: about }
  if (part.kind !== 'field') {
    return { ...policy, rules: about.flatMap((rule) => (rule === part.of ? (part.rule ?? []) : rule)) }
  }
  const views = new Map(policy.views.get(resource.name))
  const kept = [...(views.get(part.view) ?? [])].filter((field) => field !== part.name)
  views.set(part.view, new Set(kept))
  return { ...policy, rules: about, views: new Map(policy.views).set(resource.name, views) }
}
