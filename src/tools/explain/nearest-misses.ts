/** What is missing from a refused request: the least changes of caller, object or rules that would make it an allowed one. */

import { rulesFor } from '../../decide/grants/evaluate.ts'
import type { Policy, Rule } from '../../decide/policy.ts'
import { holdsForOwnRecord, kindOf } from '../../decide/relations/relation.ts'
import { inheritedBy } from '../../decide/space.ts'
import type { Change } from './explanation.ts'
import type { NearMiss } from './finding.ts'
import { type Ground, needsCaller, pageRules, verdictOf } from './ground.ts'
import { isAllowed } from './judge.ts'
import { missSentence } from './miss-sentence.ts'
import { placeOf } from './quote-rules.ts'

interface Candidate {
  readonly changes: readonly Change[]
  /** Those that allow it; of these only those about the other, where there is one. None: what the other inherits is enough. */
  readonly rules: readonly Rule[]
}

/** Somebody else to ask as, and the changes that make the caller that. */
interface Other {
  readonly ground: Ground
  readonly changes: readonly Change[]
  /** A rule about this subject must be among those that allow it; else the change isn't what it takes. */
  readonly owing: string | undefined
}

/** The smallest first. Empty when no rule could allow it to anybody. `relations` are those that hold. */
export function nearestMisses(asked: Ground, relations: ReadonlySet<string>): readonly NearMiss[] {
  const ground = { ...asked, policy: onlyAbout(asked) }
  const before = new Set(verdictOf(ground, ground.action, relations).allows)
  const mine = needsCaller(ground) ? [] : candidatesOf({ ground, changes: [], owing: undefined }, relations)
  const others = othersOf(ground).map((other) => candidatesOf(other, relations))
  // Two others have no change in common, so each has to be less only than itself and than the caller as they are.
  const least = [mine, ...others].flatMap((some) => some.filter((one) => !some.concat(mine).some(isLessThan(one))))
  return distinct(least.filter(({ rules }) => rules.length > 0))
    .toSorted((a, b) => rank(a) - rank(b))
    .map((one) => missOf(ground, one, before))
}

/** The rules that any change could bring to bear. */
function onlyAbout({ policy, resource, action }: Ground): Policy {
  const subjects = new Set(policy.rules.map(({ subject }) => subject))
  return { ...policy, rules: rulesFor(policy, { subjects, resource, action }) }
}

function othersOf(ground: Ground): readonly Other[] {
  const { policy, caller } = ground
  const named = new Set(policy.rules.map(({ subject }) => subject)).difference(ground.subjects)
  const roles = [...policy.roles.keys()].filter((role) => named.has(role)).map((role) => withRole(ground, role))
  const users = [...named].filter((subject) => subject.startsWith('user:')).map((subject) => asUser(ground, subject))
  const known = caller.kind === 'anonymous' ? [withCredentials(ground)] : []
  return [...known, ...roles, ...users]
}

function withCredentials(ground: Ground): Other {
  return { ground: become(ground, new Set(['everyone'])), changes: [{ kind: 'credentials' }], owing: undefined }
}

function withRole(ground: Ground, role: string): Other {
  const subjects = ground.subjects.difference(new Set(['anonymous'])).union(inheritedBy(ground.policy, role))
  return { ground: become(ground, subjects), changes: [{ kind: 'role', name: role }], owing: role }
}

function asUser(ground: Ground, user: string): Other {
  const others = [...ground.subjects].filter((subject) => subject !== 'anonymous' && !subject.startsWith('user:'))
  const change: Change = { kind: 'user', name: user.slice('user:'.length) }
  return { ground: become(ground, new Set([...others, user])), changes: [change], owing: user }
}

function become(ground: Ground, subjects: ReadonlySet<string>): Ground {
  const rules = ground.policy.rules.filter(({ subject }) => subjects.has(subject))
  const policy = { ...ground.policy, rules }
  return { ...ground, policy, subjects, has: () => true, caller: { kind: 'caller', subject: undefined, roles: [] } }
}

function candidatesOf(other: Other, relations: ReadonlySet<string>): readonly Candidate[] {
  const holding = relations.union(certainRelations(other.ground))
  return additions(other, holding).flatMap((added) => allowedBy(other, holding, added))
}

/** Somebody's own record is theirs. */
function certainRelations({ route, caller, policy, resource }: Ground): ReadonlySet<string> {
  if (route.kind !== 'caller' || caller.kind === 'anonymous') return new Set()
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  return new Set(relations.filter(holdsForOwnRecord).map(({ name }) => name))
}

/** The relations as they are, and with what each allow rule asks for besides. */
function additions({ ground }: Other, relations: ReadonlySet<string>): readonly ReadonlySet<string>[] {
  const declared = ground.policy.ownership.get(ground.resource.name)?.relations
  const isPossible = (name: string) => {
    const relation = declared?.get(name)
    return ground.caller.kind === 'caller' || (relation && kindOf(relation).couldHold(relation, () => false))
  }
  const asked = pageRules(ground, ground.action)
    .filter(({ effect }) => effect === 'allow')
    .map((rule) => rule.relations.filter((name) => !relations.has(name)))
    .filter((names) => names.every(isPossible))
  const distinctly = new Map([[], ...asked].map((names) => [names.join('+'), new Set(names)]))
  return [...distinctly.values()]
}

function allowedBy(other: Other, holding: ReadonlySet<string>, added: ReadonlySet<string>): readonly Candidate[] {
  const set = holding.union(added)
  const changes = [...other.changes, ...[...added].map((name): Change => ({ kind: 'relation', name }))]
  return withoutDenies(other.ground, set).flatMap(({ ground, denies }) => {
    const verdict = verdictOf(ground, ground.action, set)
    if (!isAllowed(ground, verdict)) return []
    const rules = verdict.allows.filter(({ subject }) => other.owing === undefined || subject === other.owing)
    return [{ changes: [...changes, ...denies.map(denyChange)], rules }]
  })
}

interface Relieved {
  readonly ground: Ground
  readonly denies: readonly Rule[]
}

/** As it is, without each deny that matches, and without as few of them as it takes. */
function withoutDenies(ground: Ground, relations: ReadonlySet<string>): readonly Relieved[] {
  const { denies } = verdictOf(ground, ground.action, relations)
  const sets = [[], ...denies.map((deny) => [deny]), fewest(ground, relations, denies)]
  return sets.map((gone) => ({ ground: without(ground, gone), denies: gone }))
}

/** Of all denies, none that could stay. */
function fewest(ground: Ground, relations: ReadonlySet<string>, denies: readonly Rule[]): readonly Rule[] {
  const isEnough = (gone: readonly Rule[]) => {
    const relieved = without(ground, gone)
    return isAllowed(relieved, verdictOf(relieved, relieved.action, relations))
  }
  return denies.reduce<readonly Rule[]>((gone, deny) => {
    const fewer = gone.filter((rule) => rule !== deny)
    return isEnough(fewer) ? fewer : gone
  }, denies)
}

function without(ground: Ground, gone: readonly Rule[]): Ground {
  const rules = ground.policy.rules.filter((rule) => !gone.includes(rule))
  return { ...ground, policy: { ...ground.policy, rules } }
}

function denyChange(rule: Rule): Change {
  return { kind: 'deny', rule: placeOf(rule) }
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

/** Few changes come first; of as many, those of the caller's relation before another role. */
function rank({ changes }: Candidate): number {
  const order: readonly Change['kind'][] = ['relation', 'deny', 'credentials', 'role', 'user']
  return changes.length * 10 + Math.max(0, ...changes.map(({ kind }) => order.indexOf(kind)))
}

function missOf(ground: Ground, { changes, rules }: Candidate, before: ReadonlySet<Rule>): NearMiss {
  const fresh = rules.filter((rule) => !before.has(rule))
  return { changes, sentence: missSentence(ground, changes), rules: fresh.length > 0 ? fresh : rules }
}
