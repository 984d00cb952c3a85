/** Finds rules that open more than is usual: writes by anybody, roles that are handed out, broad trust in services. */
import type { CallerEntry } from '../../../decide/grants/trust.ts'
import { inheritedBy, type Policy, type Rule, USERS } from '../../../decide/policy.ts'
import { needsCaller } from '../../../decide/relations/all-kinds.ts'
import { coversResource, relationColumnText } from '../../../decide/rules/terms.ts'
import { CELL } from '../../../policy/parse/rule-lines.ts'
import { namesText } from '../../../present/quote.ts'
import { POLICY_QUESTIONS } from '../../../resources/built-in/policy-questions.ts'
import type { Resource } from '../../../resources/resource.ts'
import { check, type PolicyCheck, ruleCheck } from '../check.ts'
import { coveredBy, performed, writingActions } from '../reach/writers.ts'

export const PRIVILEGES: readonly PolicyCheck[] = [
  ruleCheck({
    code: 'public-write',
    cell: CELL.subject,
    judge: (rule, { resources }) => {
      if (rule.effect !== 'allow' || !isPublic(rule.subject)) return undefined
      const writes = new Set(coveredBy(rule, resources).flatMap((one) => performed(rule, writingActions(one))))
      if (writes.size === 0) return undefined
      const message = `\`${rule.subject}\` may ${namesText(writes)}, so anybody may, even without a role`
      return { message, hint: 'allow it to a role' }
    },
  }),
  ruleCheck({
    code: 'unprivileged-write',
    cell: CELL.relation,
    judge: (rule, { policy, resources }) => {
      if (rule.effect !== 'allow' || isPublic(rule.subject) || policy.roles.get(rule.subject)?.privileged)
        return undefined
      const loose = coveredBy(rule, resources).filter((resource) => !asksWhose(rule, resource, policy))
      const writes = new Set(loose.flatMap((resource) => performed(rule, writingActions(resource))))
      if (writes.size === 0) return undefined
      const column = relationColumnText(rule)
      const whose = column === 'any' ? 'any object' : `any object that fits \`${column}\``
      const message = `\`${rule.subject}\` isn't privileged, but may ${namesText(writes)} ${whose}, not only its own`
      const hint = 'name a relation such as owner, or write `privileged: true` at the role'
      return { message, hint }
    },
  }),
  check({
    code: 'privilege-inherited',
    find: ({ policy: { roles, links }, placeOfLine }) =>
      links
        .filter(({ role, inherits }) => !roles.get(role)?.privileged && roles.get(inherits)?.privileged)
        .map(({ line, role, inherits }) => {
          const message = `\`${role}\` isn't privileged, but inherits the privileged role \`${inherits}\``
          const hint = 'write `privileged: true` at the role, or delete the line'
          return { at: placeOfLine(line, CELL.inherits), message, hint }
        }),
  }),
  ruleCheck({
    code: 'roles-writable',
    cell: CELL.fields,
    judge: (rule, { policy, resources }) => {
      if (rule.effect !== 'allow' || policy.roles.get(rule.subject)?.privileged) return undefined
      const writes = coveredBy(rule, resources).flatMap((resource) => writesOfRoles(rule, resource, policy))
      if (writes.length === 0) return undefined
      const field = `the field \`${ROLES}\` of \`${USERS}\`, which holds the roles of all users`
      const message = `\`${rule.subject}\` isn't privileged, but may ${namesText(writes)} ${field}`
      const hint = `name views without \`${ROLES}\`, or write \`privileged: true\` at the role`
      return { message, hint }
    },
  }),
  check({
    code: 'caller-asserted-privileged',
    find: ({ policy, placeOfKey }) =>
      [...policy.callers.values()].flatMap((entry) =>
        privilegedIn(entry, policy).map(({ type, roles }) => {
          const may = `\`${entry.name}\` may give subjects of the type \`${type}\` the privileged ${namesText(roles)}`
          const message = `${may} by its assertion alone, so its key is enough to ask as a privileged user`
          const hint = 'name lesser roles, or write `directory` or `token`'
          return { at: placeOfKey('callers.yaml', [entry.name, 'subjects', type]), message, hint }
        }),
      ),
  }),
  ruleCheck({
    code: 'access-broad',
    cell: CELL.subject,
    judge: (rule, { policy, resources }) => {
      if (rule.effect !== 'allow' || !coveredBy(rule, resources).some(({ name }) => name === ACCESS)) return undefined
      const asked = performed(rule, ASKING)
      const who = broadAskers(rule, policy, [...resources.byName.values()])
      if (asked.length === 0 || who === undefined) return undefined
      const message = `\`${rule.subject}\`, ${who}, may ${namesText(asked)} at \`${ACCESS}\`: answers tell who may do what`
      return { message, hint: 'allow it to a role that only services have' }
    },
  }),
  ruleCheck({
    code: 'policy-public',
    cell: CELL.subject,
    judge: (rule, { resources }) => {
      if (rule.effect !== 'allow' || !isPublic(rule.subject)) return undefined
      if (!coveredBy(rule, resources).some(({ name }) => name === POLICY_QUESTIONS.name)) return undefined
      const asked = performed(rule, ASKING_POLICY)
      if (asked.length === 0) return undefined
      const message = `\`${rule.subject}\` may ${namesText(asked)} at \`${POLICY_QUESTIONS.name}\`: answers tell rules and people`
      return { message, hint: 'allow it to roles of people who work on the policy' }
    },
  }),
]

const ROLES = 'roles'

function isPublic(subject: string): boolean {
  return subject === 'everyone' || subject === 'anonymous'
}

/** Whether the rule asks for a relation to the caller for this resource; true if the rule can't match there. */
function asksWhose({ before, after = [] }: Rule, { name }: Resource, { ownership, conditions }: Policy): boolean {
  const relations = [...before, ...after].filter((term) => !conditions.has(term.name))
  return relations.some((term) => {
    const relation = ownership.get(name)?.relations.get(term.name)
    return relation === undefined || (!term.negated && needsCaller(relation))
  })
}

/** The actions with which the rule allows writing the roles of a users record. */
function writesOfRoles(rule: Rule, resource: Resource, { views }: Policy): readonly string[] {
  if (resource.name !== USERS || !resource.fields.has(ROLES)) return []
  const named = rule.views.includes('*') || rule.views.some((view) => views.get(USERS)?.get(view)?.has(ROLES))
  return named ? performed(rule, writingActions(resource)).filter((name) => resource.actions.get(name)?.hasFields) : []
}

interface AssertedPrivilege {
  readonly type: string
  readonly roles: readonly string[]
}

function privilegedIn({ subjects }: CallerEntry, policy: Policy): readonly AssertedPrivilege[] {
  return [...subjects].flatMap(([type, source]) => {
    if (source.kind !== 'asserted') return []
    const roles = [...source.roles].filter((role) =>
      [...inheritedBy(policy, role)].some((one) => policy.roles.get(one)?.privileged),
    )
    return roles.length > 0 ? [{ type, roles }] : []
  })
}

// ---- Finds rules that let more than services ask what others may do: answers tell ids of people and their rights.

/** What each answer tells, by action of `system/access`. */
const ASKING = new Set(['evaluate', 'search', 'filter', 'forward'])
const ACCESS = 'system/access'
const ASKING_POLICY = new Set([...POLICY_QUESTIONS.actions.keys()].filter((name) => name !== 'options'))

/** Undefined for services. */
export function broadAskers(
  { subject, before }: Rule,
  policy: Policy,
  resources: readonly Resource[],
): string | undefined {
  if (before.some(({ name, negated }) => !negated && needsApiKey(name, policy))) return undefined
  if (subject === 'anonymous') return 'whoever reaches the server without credentials'
  if (subject === 'everyone') return 'whoever reaches the server'
  if (!policy.roles.has(subject)) return undefined
  // An entry says that a role is a service, but people can inherit it.
  const isOfPeople = [...policy.roles.keys()].some((role) => {
    const inherited = inheritedBy(policy, role)
    return !policy.callers.has(role) && inherited.has(subject) && mayTouchData(inherited, policy, resources)
  })
  return isOfPeople ? 'a role with rights to data, which people have' : undefined
}

function needsApiKey(name: string, { conditions }: Policy): boolean {
  const condition = conditions.get(name)
  return condition?.kind === 'credential' && condition.credentials.every((kind) => kind === 'api-key')
}

function mayTouchData(roles: ReadonlySet<string>, { rules }: Policy, resources: readonly Resource[]): boolean {
  const data = resources.filter(({ builtIn }) => !builtIn)
  return rules.some((rule) => {
    return rule.effect === 'allow' && roles.has(rule.subject) && data.some((resource) => coversResource(rule, resource))
  })
}
