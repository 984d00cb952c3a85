/** Finds routes that nobody can use, fields without a bound, limits that never refuse, and climbs that read much. */
import type { ActionRules } from '../../../analysis/action-rules.ts'
import { NOWHERE } from '../../../analysis/regions.ts'
import type { ActionRulesIndex } from '../../../analysis/rule-index.ts'
import { decisionsOf } from '../../../analysis/space.ts'
import { isObject } from '../../../base/is-object.ts'
import { durationText } from '../../../base/time.ts'
import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import type { Limit } from '../../../decide/policy.ts'
import { comparedFields, stepOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { relationColumnText } from '../../../decide/rules/terms.ts'
import { streamRoute, TRIED_FOR_MS } from '../../../policy/parse/parse-subscriptions.ts'
import { namesText } from '../../../present/quote.ts'
import { ACCESS } from '../../../resources/built-in/access.ts'
import { ACCESS_REQUESTS } from '../../../resources/built-in/access-requests.ts'
import { BATCH_RESOURCE } from '../../../resources/built-in/batch.ts'
import { POLICY_QUESTIONS } from '../../../resources/built-in/policy-questions.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import { unboundedFields } from '../../../resources/schema/bounds.ts'
import { fieldSchemas } from '../../../resources/schema/subschemas.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { MOST_CLIMBED } from '../../../store/lists/read-bounds.ts'
import { check, type PolicyCheck } from '../check.ts'

/** Most projects have no other services that ask, no roles for a time and no batches; who sees the policy is for each to decide. */
const OPTIONAL: readonly Resource[] = [ACCESS, ACCESS_REQUESTS, BATCH_RESOURCE, POLICY_QUESTIONS]

export const ROUTES_AND_LIMITS: readonly PolicyCheck[] = [
  check({
    code: 'route-unreached',
    find: ({ files, resources, index }) => {
      const place = { file: files['policy.csv'].name, line: 1, column: 1 }
      return unreached(resources, index).map(([{ resource, action }, requests]) => {
        const nothing = `nothing grants \`${action.name}\` on \`${resource.name}\``
        const message = `nobody may ${requests.join(', ')}: ${nothing}`
        const hint =
          'allow it to a role, deny it to `everyone` if this is intended, or delete the method from the schema file'
        return { at: place, message, hint }
      })
    },
  }),
  check({
    code: 'command-grants',
    find: ({ files, resources }) =>
      storedResources(resources).flatMap(({ name, routes }) =>
        routes.flatMap(({ command }) => {
          if (!command?.grantsSteps) return []
          const fields = namesText(Object.keys(command.set))
          const made = command.creates.map(({ resource }) => resource)
          const creates = made.length > 0 ? `, and creates objects of ${namesText(made)}` : ''
          const message = `whoever may run \`${command.name}\` sets ${fields} of \`${name}\`${creates}, whatever rules about ${made.length > 0 ? '`update` and `create`' : '`update`'} say`
          const hint = `take \`grants\` out of \`commands/${command.name}.json\`, or suppress the warning and say why`
          return [{ at: { file: files['policy.csv'].name, line: 1, column: 1 }, message, hint }]
        }),
      ),
  }),
  check({
    code: 'unbounded-field',
    find: ({ resources, placeOfKey }) =>
      storedResources(resources).flatMap((resource) => {
        const fields = unboundedFields(resource).map(({ field, lacks }) => `\`${field}\` (${namesText(lacks)})`)
        if (fields.length === 0) return []
        const message = `these fields of \`${resource.name}\` have no bound (missing keyword): ${fields.join(', ')}`
        const hint = 'write the missing keywords into the schema file'
        return [{ at: placeOfKey('limits.yaml', ['object']), message, hint }]
      }),
  }),
  check({
    code: 'wide-climb',
    find: ({ policy, resources, placeOfKey }) =>
      [...policy.ownership].flatMap(([name, { relations }]) =>
        [...relations].flatMap(([relation, form]) => {
          const wide = wideField(form, resources.byName.get(name))
          if (wide === undefined) return []
          const place = placeOfKey('ownership.yaml', [name, 'relations', relation])
          const message = `\`${relation}\` of \`${name}\` climbs through the list \`${wide}\`, and may meet more than ${MOST_CLIMBED} objects`
          const hint = 'climb through a field with one id, or write a smaller `depth` or `maxItems`'
          return [{ at: place, message, hint }]
        }),
      ),
  }),
  check({
    code: 'events-kept-short',
    find: ({ policy, resources, placeOfKey }) =>
      policy.subscriptions.flatMap(({ name, resource }) => {
        const { path, events } = streamRoute(resource, resources) ?? {}
        if (!events || events.keepMs >= TRIED_FOR_MS) return []
        const message = `events of \`${resource}\` are kept for ${durationText(events.keepMs)}, and the receiver of \`${name}\` may be away for ${durationText(TRIED_FOR_MS)}`
        const hint = `write \`"events": { "keep": "4d" }\` at the route \`${path}\``
        return [{ at: placeOfKey('subscriptions.yaml', [name, 'resource']), message, hint }]
      }),
  }),
  check({
    code: 'limit-never-matches',
    find: ({ policy, resources, placeOfKey }) =>
      policy.limits.limits.flatMap(({ name, match }) => {
        const why = neverMatches(match, resources)
        if (why === undefined) return []
        const message = `the limit \`${name}\` counts no request: ${why}`
        const place = placeOfKey('limits.yaml', ['limits', name])
        return [{ at: place, message, hint: 'correct `match`, or delete the limit' }]
      }),
  }),
  check({
    code: 'limit-shadowed',
    find: ({ policy, index, placeOfKey }) =>
      policy.limits.limits.flatMap((limit, i, limits) => {
        const tighter = limits.find((other, j) => {
          if (other === limit || !shadows(other, limit, index)) return false
          // If two limits shadow each other, the later one is redundant.
          return j < i || !shadows(limit, other, index)
        })
        if (!tighter) return []
        const message = `the limit \`${limit.name}\` can never refuse anything: \`${tighter.name}\` refuses first`
        return [{ at: placeOfKey('limits.yaml', ['limits', limit.name]), message, hint: 'delete it, or lower it' }]
      }),
  }),
]

/** The actions that nobody may do: each with one of its routes, and the methods and paths that need it. */
function unreached(
  resources: Resources,
  index: ActionRulesIndex,
): readonly (readonly [RouteMethod, readonly string[]])[] {
  // HEAD is possible wherever GET is. A policy that answers no other service is whole.
  const routeMethods = routeMethodsOf(resources).filter(
    ({ method, resource }) => method !== 'HEAD' && !OPTIONAL.includes(resource),
  )
  const closed = routeMethods.filter((routeMethod) => {
    const actionRules = index.rulesOf(routeMethod.resource.name, routeMethod.action.name)
    return actionRules !== undefined && !isReached(index, actionRules, routeMethod) && !isClosedOnPurpose(actionRules)
  })
  const byAction = Map.groupBy(closed, ({ resource, action }) => JSON.stringify([resource.name, action.name]))
  return [...byAction.values()].flatMap((some) => {
    const [first] = some
    return first ? [[first, some.map(({ method, route }) => `\`${method} ${route.path}\``)] as const] : []
  })
}

/** Whether some caller is allowed: with more subjects, only more denies match. */
function isReached(index: ActionRulesIndex, actionRules: ActionRules, routeMethod: RouteMethod): boolean {
  const { action, resource } = actionRules
  const { regions, first, second } = actionRules.space
  // A redirect is decided at the role level: a caller who could have the relations passes.
  const decision = decisionsOf(resource, action).changes && routeMethod.route.redirect === undefined ? second : first
  return actionRules
    .subjects('allow')
    .values()
    .some((subject) =>
      actionRules
        .granted(actionRules.groups('allow', subject), index.subjectsOf(subject))
        .some(({ region }) => regions.both(region, decision) !== NOWHERE),
    )
}

/** Everyone is denied something of it, whatever holds. */
function isClosedOnPurpose(actionRules: ActionRules): boolean {
  return actionRules
    .groups('deny', 'everyone')
    .some(({ rules }) => rules.some(({ rule }) => relationColumnText(rule) === 'any'))
}

// ---- Finds rate limits that can never refuse anything.

/**
 * A limiter may count a request for up to a twentieth of the window longer than the window
 * (src/limits/sliding-window.ts).
 */
const LONGEST_COUNT = 1.05

function neverMatches(
  { role, resource, action, credentials }: Limit['match'],
  resources: Resources,
): string | undefined {
  if (credentials === 'rejected' && role !== undefined && !['everyone', 'anonymous'].includes(role)) {
    return 'a request whose credentials were rejected has no role'
  }
  if (resource === undefined && action === undefined) return undefined
  const met = routeMethodsOf(resources).some(
    (routeMethod) =>
      (resource ?? routeMethod.resource.name) === routeMethod.resource.name &&
      (action ?? routeMethod.action.name) === routeMethod.action.name,
  )
  if (met) return undefined
  const what = action === undefined ? '' : ` for \`${action}\``
  return resource === undefined ? `no resource has a route${what}` : `\`${resource}\` has no route${what}`
}

/** Whether `limit` can't be reached while `other` holds. */
function shadows(other: Limit, limit: Limit, index: ActionRulesIndex): boolean {
  if (other.per !== limit.per || !countsAll(other.match, limit.match, index)) return false
  const windows = other.windowMs === limit.windowMs ? 1 : Math.ceil((limit.windowMs * LONGEST_COUNT) / other.windowMs)
  return other.allow * windows <= limit.allow
}

/** Whether the wider match fits every request that the narrower one fits. */
function countsAll(wider: Limit['match'], narrower: Limit['match'], index: ActionRulesIndex): boolean {
  const same = (['resource', 'action', 'credentials'] as const).every(
    (key) => wider[key] === undefined || wider[key] === narrower[key],
  )
  if (!same || wider.role === undefined || wider.role === 'everyone') return same
  return narrower.role !== undefined && narrower.role !== 'everyone' && index.subjectsOf(narrower.role).has(wider.role)
}

// ---- Finds climbs that may meet so many objects that a decision fails: those through lists, whose members fill
// them.

/** The list that a wide climb goes through. */
function wideField(relation: Relation, resource: Resource | undefined): string | undefined {
  const depth = stepOf(relation)?.depth
  const [field] = comparedFields(relation)
  if (depth === undefined || field === undefined || !resource?.fields.get(field)?.list) return undefined
  const members = mostMembers(resource, field)
  const met = Array.from({ length: depth }, (_, step) => members ** (step + 1)).reduce((sum, one) => sum + one, 0)
  return met > MOST_CLIMBED ? field : undefined
}

function mostMembers({ schema }: Resource, field: string): number {
  const written = fieldSchemas(schema)[field]
  const most = isObject(written) ? written.maxItems : undefined
  return typeof most === 'number' ? most : Number.POSITIVE_INFINITY
}
