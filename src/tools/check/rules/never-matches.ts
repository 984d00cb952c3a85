/** Rules, or parts of them, that never match, or not where they seem to: relations, views, actions and attributes. */
import type { ActionRules } from '../../../analysis/action-rules.ts'
import { NOWHERE } from '../../../analysis/regions.ts'
import { nearestName } from '../../../base/did-you-mean.ts'
import { type Policy, type Rule, USERS } from '../../../decide/policy.ts'
import { comparedFields, kindOf, leavesOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { namesIn, relationColumnText } from '../../../decide/rules/terms.ts'
import { CELL } from '../../../policy/parse/rule-lines.ts'
import { namesText } from '../../../present/quote.ts'
import type { Resource } from '../../../resources/resource.ts'
import { type CheckedPolicy, check, type PolicyCheck, ruleCheck } from '../check.ts'
import { coveredBy, explicitActions, performed, routedActions } from '../reach/writers.ts'

export const NEVER_MATCHES: readonly PolicyCheck[] = [
  ruleCheck({
    code: 'relation-never-holds',
    cell: CELL.relation,
    judge: (rule, { policy, resources }) => {
      const message = neverHolds(rule, coveredBy(rule, resources), policy)
      if (!message) return undefined
      const hint = rule.effect === 'deny' ? 'write `any`; this line denies nothing now' : 'write `any`'
      return { message, hint }
    },
  }),
  ruleCheck({
    code: 'rule-never-matches',
    cell: CELL.relation,
    judge: (rule, { index }) => {
      if (!index.isContradiction(rule)) return undefined
      const column = relationColumnText(rule)
      const message = rule.after
        ? `no write can be \`${column}\`: the names exclude one another`
        : `no object can be \`${column}\`: the names exclude one another`
      const nothing = rule.effect === 'deny' ? '; this line denies nothing now' : ''
      return { message, hint: `correct the names, or delete the line${nothing}` }
    },
  }),
  ruleCheck({
    code: 'transition-without-field',
    cell: CELL.fields,
    judge: (rule, checked) => {
      const places = checked.index.placesOf(rule)
      if (rule.effect !== 'allow' || !rule.after || places.length === 0) return undefined
      const missing = places.map((actionRules) => fieldsMissing(actionRules, rule, checked))
      const [first] = missing
      if (!first || missing.some((fields) => fields.length === 0)) return undefined
      const fields = first.map((name) => `\`${name}\``).join(' or ')
      const message = `\`${relationColumnText(rule)}\` changes ${fields}, which no line grants: the write is always refused`
      return { message, hint: 'name a view with this field' }
    },
  }),
  ruleCheck({
    code: 'view-without-fields',
    cell: CELL.fields,
    judge: (rule, { resources }) => {
      if (rule.views.includes('*')) return undefined
      const covered = coveredBy(rule, resources)
      const whole = explicitActions(rule).filter((name) => covered.every((resource) => hasNoFields(resource, name)))
      return whole.length === 0 ? undefined : viewWithoutFields(rule, whole)
    },
  }),
  ruleCheck({
    code: 'parent-hidden',
    cell: CELL.fields,
    judge: (rule, { policy: { views }, resources }) => {
      if (rule.effect !== 'allow' || rule.views.includes('*')) return undefined
      const routes = coveredBy(rule, resources).flatMap((resource) => resource.routes)
      const hidden = routes.find(({ resource, parent, endpoints }) => {
        const list = endpoints.get('GET')?.action
        const isSeen = rule.views.some((view) => parent && views.get(resource)?.get(view)?.has(parent.field))
        return parent && list !== undefined && performed(rule, new Set([list])).length > 0 && !isSeen
      })
      if (!hidden?.parent) return undefined
      const { path, parent } = hidden
      const message = `\`GET ${path}\` leaves out what only this line shows, because it hides \`${parent.field}\``
      return { message, hint: `add a view with \`${parent.field}\`` }
    },
  }),
  ruleCheck({
    code: 'action-without-route',
    cell: CELL.action,
    judge: (rule, { resources }) => {
      const covered = coveredBy(rule, resources).filter(({ builtIn }) => !builtIn)
      if (covered.length === 0) return undefined
      const routed = new Set(covered.flatMap((resource) => [...routedActions(resource)]))
      const without = explicitActions(rule).filter((name) => !routed.has(name))
      if (without.length === 0) return undefined
      const has = rule.resource === '*' ? 'no resource has a' : `\`${rule.resource}\` has no`
      const message = `${has} route for ${namesText(without)}`
      return { message, hint: 'remove the action, or add the method to the schema' }
    },
  }),
  ruleCheck({
    code: 'relation-gap',
    cell: CELL.relation,
    judge: (rule, { policy, resources }) => {
      const named = namesIn(rule).filter((name) => !policy.conditions.has(name))
      if (rule.resource !== '*' || named.length === 0) return undefined
      const lacks = (resource: Resource) => {
        const declared = policy.ownership.get(resource.name)?.relations
        return named.filter((name) => !declared?.has(name))
      }
      const lacking = concerned(rule, coveredBy(rule, resources)).filter((resource) => lacks(resource).length > 0)
      return gap(rule, new Set(lacking.flatMap(lacks)), lacking)
    },
  }),
  ruleCheck({
    code: 'view-gap',
    cell: CELL.fields,
    judge: (rule, { policy, resources }) => {
      if (rule.resource !== '*' || rule.views.includes('*')) return undefined
      const lacking = concerned(rule, coveredBy(rule, resources))
        .filter(({ actions }) => performed(rule, new Set(actions.keys())).some((name) => actions.get(name)?.hasFields))
        .filter(({ name }) => !rule.views.some((view) => policy.views.get(name)?.has(view)))
      return gap(rule, rule.views, lacking)
    },
  }),
  check({
    code: 'attribute-undeclared',
    find: ({ policy, resources, placeOfKey }) => {
      // Without a directory, tokens alone have attributes, and no file declares their claims.
      const users = resources.byName.get(USERS)
      const areAsserted = hasAssertedAttributes(policy)
      return [...policy.ownership].flatMap(([name, { relations }]) =>
        [...relations.values()].flatMap((relation) => {
          const { attribute = 'id' } = kindOf(relation).equates?.(relation) ?? {}
          if (!users || attribute === 'id' || users.fields.has(attribute)) return []
          const meant = nearestName(attribute, users.fields.keys())
          if (areAsserted && meant === undefined) return []
          const message = `\`${USERS}\` declares no \`${attribute}\`, so \`${relation.name}\` of \`${name}\` holds for no user`
          const hint = meant === undefined ? `declare it in the schema of \`${USERS}\`` : `did you mean \`${meant}\`?`
          const place = placeOfKey('ownership.yaml', [name, 'relations', relation.name])
          return [{ at: place, message: `${message}, and a deny that needs it denies nothing`, hint }]
        }),
      )
    },
  }),
]

function neverHolds(
  rule: Rule,
  covered: readonly Resource[],
  { ownership, conditions }: CheckedPolicy['policy'],
): string | undefined {
  const { subject, actions } = rule
  const relations = namesIn(rule).filter((name) => !conditions.has(name))
  if (relations.length === 0) return undefined
  const named = namesText(relations)
  if (actions.includes('options')) return `${named} never holds for \`options\`, which concerns no object`
  const comparesCaller = (name: string) =>
    covered.every((resource) => {
      const relation = ownership.get(resource.name)?.relations.get(name)
      return relation === undefined || needsCaller(relation)
    })
  const asked = [...rule.before, ...(rule.after ?? [])].filter(({ negated }) => !negated).map(({ name }) => name)
  const hopeless = asked.find((name) => relations.includes(name) && comparesCaller(name))
  if (subject !== 'anonymous' || hopeless === undefined) return undefined
  return `\`${hopeless}\` never holds for \`anonymous\`: without credentials there is no caller to compare with`
}

/** One of these fields must change; empty if an allow about the action names one of them. */
function fieldsMissing(actionRules: ActionRules, rule: Rule, { policy }: CheckedPolicy): readonly string[] {
  const { space, resource } = actionRules
  const region = actionRules.placed(rule)?.region ?? NOWHERE
  const bits = [...actionRules.extents('allow', actionRules.subjects('allow'))].reduce(
    (sum, one) => sum | one.fields,
    0n,
  )
  const granted = new Set([...resource.fields.keys()].filter((_, bit) => ((bits >> BigInt(bit)) & 1n) === 1n))
  const isKept = (leaf: Relation) => comparedFields(leaf).every((field) => !granted.has(field))
  const kept = space.regions.all([region, space.second, space.whereKept(isKept)])
  if (kept !== NOWHERE) return []
  const relations = policy.ownership.get(resource.name)?.relations
  const leaves = namesIn(rule).flatMap((name) => {
    const relation = relations?.get(name)
    return relation ? leavesOf(relation) : []
  })
  return [...new Set(leaves.filter(isKept).flatMap(comparedFields))]
}

/** Also true for a resource without the action. */
function hasNoFields({ actions }: Resource, name: string): boolean {
  return !actions.get(name)?.hasFields
}

function viewWithoutFields(rule: Rule, actions: readonly string[]) {
  const nothing = rule.effect === 'deny' ? 'this line denies nothing for it' : 'this line grants nothing for it'
  const message = `${namesText(actions)} has no fields, so a view never matches: ${nothing}`
  return { message, hint: 'write a separate line for this action, with `*` in the fields column' }
}

/** The resources with a route that needs one of the rule's actions. */
function concerned(rule: Rule, covered: readonly Resource[]): readonly Resource[] {
  return covered.filter((resource) => performed(rule, routedActions(resource)).length > 0)
}

function gap(rule: Rule, missing: Iterable<string>, lacking: readonly Resource[]) {
  if (lacking.length === 0) return undefined
  const where = namesText(lacking.map(({ name }) => name))
  const nothing = rule.effect === 'deny' ? 'this deny denies nothing there' : 'this line grants nothing there'
  const message = `${namesText(missing)} isn't declared for ${where}: ${nothing}`
  return { message, hint: 'declare it there, or write a line for each resource you mean' }
}

/** Whether a service may ask about people whose attributes come from a token, or are asserted by it. */
function hasAssertedAttributes({ callers }: Policy): boolean {
  return [...callers.values()].some(({ subjects }) => [...subjects.values()].some(({ kind }) => kind !== 'directory'))
}
