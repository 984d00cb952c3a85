/**
 * The nearest misses of a refused request: the minimal sets of changes to caller, object or rules that would allow it.
 */

import { rulePlace } from '../../decide/evidence.ts'
import { directPolicy } from '../../decide/grants/direct.ts'
import type { Rule } from '../../decide/policy.ts'
import { holdsForOwnRecord } from '../../decide/relations/all-kinds.ts'
import { namesIn } from '../../decide/rules/terms.ts'
import type { NeededChange } from './explanation.ts'
import type { NearMiss } from './finding.ts'
import { missSentence } from './miss-sentence.ts'
import { actionTable, decideOn, requestOf, roleLevelOf, type SupposedRequest } from './supposed-request.ts'

type Relations = ReadonlySet<string>

interface Candidate {
  readonly changes: readonly NeededChange[]
  /**
   * The rules that allow it; if the candidate is another caller, only the rules about what that caller has in addition.
   */
  readonly rules: readonly Rule[]
}

/** Another caller, and the changes that turn this caller into that one. */
interface OtherCaller {
  readonly request: SupposedRequest
  readonly changes: readonly NeededChange[]
  /** A rule about this subject must be among the allowing rules; otherwise the change is unnecessary. */
  readonly needed: string | undefined
}

/** Sorted, the fewest changes first. Empty if no rule could allow it to anybody. `relations` are those that hold. */
export function nearestMisses(refused: SupposedRequest, relations: Relations): readonly NearMiss[] {
  const request = withRules(refused, rulesAboutAction(refused))
  const before = new Set(actionTable(request).grant([...relations]).allows)
  const mine = candidatesOf({ request, changes: [], needed: undefined }, relations)
  const others = otherCallers(request).map((other) => candidatesOf(other, relations))
  // Two other callers have no change in common, so each is compared only with itself and with the present caller.
  const least = [mine, ...others].flatMap((some) => some.filter((one) => !some.concat(mine).some(isLessThan(one))))
  return distinct(least.filter(({ rules }) => rules.length > 0))
    .toSorted((a, b) => rank(a) - rank(b))
    .map(({ changes, rules }) => {
      const fresh = rules.filter((rule) => !before.has(rule))
      return { changes, sentence: missSentence(request, changes), rules: fresh.length > 0 ? fresh : rules }
    })
}

/** All rules that could start to match if the caller changes. */
function rulesAboutAction({ policy, resource, endpoint }: SupposedRequest): readonly Rule[] {
  return policy.table(policy.anybody, resource.name, endpoint.action).roleLevel(() => true).rules
}

/**
 * The same request under other rules. A redirect is decided by roles alone, but a miss names the relations that it
 * needs, so the redirect is removed.
 */
function withRules(request: SupposedRequest, rules: readonly Rule[]): SupposedRequest {
  const { redirect: _, ...route } = request.route
  const parsed = { ...request.parsed, rules }
  const policy = directPolicy(parsed, request.resources)
  return { ...request, route, parsed, policy, subject: policy.subjectOf(request.subject.caller), blocked: false }
}

function otherCallers(request: SupposedRequest): readonly OtherCaller[] {
  const { policy, parsed, subject } = request
  const roles = subject.caller?.roles ?? []
  const named = new Set(policy.anybody.names).difference(new Set(subject.names))
  const withCredentials = (): OtherCaller => {
    return { request: requestOf(request, { roles }), changes: [{ kind: 'credentials' }], needed: undefined }
  }
  const withRole = (name: string): OtherCaller => {
    const caller = { ...subject.caller, roles: [...roles, name] }
    return { request: requestOf(request, caller), changes: [{ kind: 'role', name }], needed: name }
  }
  const asUser = (user: string): OtherCaller => {
    const name = user.slice('user:'.length)
    return { request: requestOf(request, { id: name, roles }), changes: [{ kind: 'user', name }], needed: user }
  }
  return [
    ...(subject.caller ? [] : [withCredentials()]),
    ...[...parsed.roles.keys()].filter((role) => named.has(role)).map(withRole),
    ...[...named].filter((name) => name.startsWith('user:')).map(asUser),
  ]
}

function candidatesOf(other: OtherCaller, relations: Relations): readonly Candidate[] {
  const holding = relations.union(certainRelations(other.request))
  return additions(other.request, holding).flatMap((added) => allowedWith(other, holding, added))
}

/** The relations that certainly hold between a caller and the caller's own record. */
function certainRelations({ route, subject, parsed, resource }: SupposedRequest): Relations {
  if (route.kind !== 'caller' || !subject.caller) return new Set()
  const relations = [...(parsed.ownership.get(resource.name)?.relations.values() ?? [])]
  return new Set(relations.filter(holdsForOwnRecord).map(({ name }) => name))
}

/** The empty set, and for each allow rule the set of relations that it still needs. */
function additions(request: SupposedRequest, holding: Relations): readonly Relations[] {
  const columns = roleLevelOf(request).relationColumns('allows').map(namesIn)
  const missing = [[], ...columns.map((names) => names.filter((name) => !holding.has(name)))]
  return [...new Map(missing.map((names) => [names.join('+'), new Set(names)])).values()]
}

function allowedWith(other: OtherCaller, holding: Relations, added: Relations): readonly Candidate[] {
  const relations = holding.union(added)
  const changes = [...other.changes, ...[...added].map((name): NeededChange => ({ kind: 'relation', name }))]
  return withoutDenies(other.request, relations).flatMap(({ request, denies }) => {
    if (!isAllowed(request, relations)) return []
    const { allows } = actionTable(request).grant([...relations])
    const rules = allows.filter(({ subject }) => other.needed === undefined || subject === other.needed)
    return [{ changes: [...changes, ...denies.map(denyChange)], rules }]
  })
}

function isAllowed(request: SupposedRequest, relations: Relations): boolean {
  const decision = decideOn(request, relations)
  return decision.kind === 'route' || (decision.kind === 'supposed' && !decision.refusal)
}

interface Relieved {
  readonly request: SupposedRequest
  readonly denies: readonly Rule[]
}

/** The request with all rules, without each matching deny, and without the denies that must go. */
function withoutDenies(request: SupposedRequest, relations: Relations): readonly Relieved[] {
  const { denies } = actionTable(request).grant([...relations])
  const sets = denies.length === 0 ? [[]] : [[], ...denies.map((deny) => [deny]), fewest(request, relations, denies)]
  return sets.map((gone) => ({ request: without(request, gone), denies: gone }))
}

/** The denies that must go: if any of them stayed, the request would be refused. */
function fewest(request: SupposedRequest, relations: Relations, denies: readonly Rule[]): readonly Rule[] {
  return denies.reduce<readonly Rule[]>((gone, deny) => {
    const fewer = gone.filter((rule) => rule !== deny)
    return isAllowed(without(request, fewer), relations) ? fewer : gone
  }, denies)
}

function without(request: SupposedRequest, gone: readonly Rule[]): SupposedRequest {
  if (gone.length === 0) return request
  return withRules(
    request,
    request.parsed.rules.filter((rule) => !gone.includes(rule)),
  )
}

function denyChange(rule: Rule): NeededChange {
  return { kind: 'deny', rule: rulePlace(rule.line) }
}

function isLessThan(more: Candidate): (less: Candidate) => boolean {
  const many = keysOf(more)
  return (less) => less.changes.length < many.size && keysOf(less).isSubsetOf(many)
}

function keysOf({ changes }: Candidate): ReadonlySet<string> {
  return new Set(changes.map((change) => JSON.stringify(change)))
}

function distinct(candidates: readonly Candidate[]): readonly Candidate[] {
  return [...new Map(candidates.map((one) => [[...keysOf(one)].toSorted().join(), one])).values()]
}

/** Few changes come first; for the same number, a relation comes before another role. */
function rank({ changes }: Candidate): number {
  const order: readonly NeededChange['kind'][] = ['relation', 'deny', 'credentials', 'role', 'user']
  return changes.length * 10 + Math.max(0, ...changes.map(({ kind }) => order.indexOf(kind)))
}
