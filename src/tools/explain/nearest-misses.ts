/**
 * The nearest misses of a refused request: the minimal sets of changes to caller, object or rules that would allow it.
 */

import { smallestSubsets } from '../../base/subsets.ts'
import { rulePlace } from '../../decide/evidence.ts'
import { directPolicy } from '../../decide/grants/direct.ts'
import type { Grant } from '../../decide/grants/grant.ts'
import type { Rule } from '../../decide/policy.ts'
import { holdsForOwnRecord, leavesOf, needsCaller } from '../../decide/relations/all-kinds.ts'
import { conditionNeedsCaller } from '../../decide/request-conditions/all-conditions.ts'
import type { Names, NeededChange } from './explanation.ts'
import { conditionFacts, relationFacts } from './facts.ts'
import { missSentence } from './miss-sentence.ts'
import { type Held, heldAfter, leavesBehind, namesFrom, settled, waysToFit, waysToMiss } from './needed-terms.ts'
import {
  actionTable,
  conditionsAsked,
  decideOn,
  declaredRelations,
  type ExplainQuestion,
  type HypotheticalRequest,
  hasAttribute,
  holdingExactly,
  hypotheticalResultOf,
  type NearMiss,
  relationsAsked,
  requestOf,
  writtenBy,
} from './request.ts'

interface Candidate {
  readonly changes: readonly NeededChange[]
  /**
   * The rules that allow it; if the candidate is another caller, only the rules about what that caller has in addition.
   */
  readonly rules: readonly Rule[]
}

/** Another caller, and the changes that turn this caller into that one. */
interface OtherCaller {
  readonly request: HypotheticalRequest
  readonly changes: readonly NeededChange[]
  /** A rule about this subject must be among the allowing rules; otherwise the change is unnecessary. */
  readonly needed: string | undefined
}

interface MissSearch extends OtherCaller {
  /** What holds for this caller. */
  readonly held: Held
}

/** The limit of sets of changes that are tried for one caller. */
const MOST_TRIED = 200

/** The parts of one set of changes that are tried, the smallest first. */
const MOST_PARTS = 256

/** The denies that one set of changes avoids or drops at most. */
const MOST_DENIES = 3

/** The limit of situations that unknown names make. A caller with more gets no near miss. */
const MOST_WAYS = 512

/**
 * Sorted, the fewest changes first. Empty if no rule could allow it to anybody. `held`: the relations and conditions that
 * hold; relations with parts too. `decided`: the names that a case of the explanation fixes.
 */
export function nearestMisses(
  question: ExplainQuestion,
  refused: HypotheticalRequest,
  { decided, ...given }: Held & { readonly decided: ReadonlySet<string> },
): readonly NearMiss[] {
  const request = withRules(refused, rulesAboutAction(refused))
  const anybody = { ...request, subject: request.policy.anybody }
  const known = namesKnown(question, refused, { decided, named: new Set(actionTable(anybody).conditions) })
  const held = { ...given, conditions: given.conditions.union(known.certain) }
  const base = withResult({ relations: leavesBehind(held.relations, request), conditions: held.conditions }, request)
  const before = new Set(grantsTo(request, base).at(-1)?.allows)
  const askingOf = (other: OtherCaller): MissSearch | undefined => {
    const held = withCertain(other.request, { ...base, open: openFor(other, question, known) })
    return settled(held, other.request).length > MOST_WAYS ? undefined : { ...other, held }
  }
  const mine = askingOf({ request, changes: [], needed: undefined })
  const least = [mine, ...otherCallers(request).map(askingOf)].flatMap((one) => (one ? candidatesOf(one, mine) : []))
  const distinct = new Map(least.flatMap((one) => (one.rules.length > 0 ? [[keyOf(one.changes), one]] : [])))
  return [...distinct.values()]
    .toSorted((a, b) => rank(a) - rank(b))
    .map(({ changes, rules }) => {
      const fresh = rules.filter((rule) => !before.has(rule))
      return { changes, sentence: missSentence(request, changes), rules: fresh.length > 0 ? fresh : rules }
    })
}

/** What holds after the write, if a change of states is assumed. */
function withResult(held: Held, { becomes }: HypotheticalRequest): Held {
  return becomes ? { ...held, result: writtenBy(becomes, held.relations).after } : held
}

/** All rules that could start to match if the caller changes. */
function rulesAboutAction({ policy, resource, endpoint }: HypotheticalRequest): readonly Rule[] {
  return policy.table(policy.anybody, resource.name, endpoint.action).roleLevel(() => true, 'any').rules
}

/**
 * The same request under other rules. A redirect is decided by roles alone, but a miss names the relations that it
 * needs, so the redirect is removed.
 */
function withRules(request: HypotheticalRequest, rules: readonly Rule[]): HypotheticalRequest {
  const { redirect: _, ...route } = request.route
  const parsed = { ...request.parsed, rules }
  const policy = directPolicy(parsed, request.resources)
  return { ...request, route, parsed, policy, subject: policy.subjectOf(request.subject.caller), blocked: false }
}

function otherCallers(request: HypotheticalRequest): readonly OtherCaller[] {
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

/** The relations that certainly hold between a caller and the caller's own record. */
function withCertain(request: HypotheticalRequest, held: Held): Held {
  if (request.route.kind !== 'caller' || !request.subject.caller) return held
  const certain = declaredRelations(request)
    .filter(holdsForOwnRecord)
    .map(({ name }) => name)
  const names = new Set([...namesFrom(held.relations, request), ...certain])
  const open = held.open?.difference(new Set(certain))
  return withResult({ ...held, open, relations: leavesBehind(names, request) }, request)
}

/** Begins with each rule that could allow it, and goes on where denies take that away. */
function candidatesOf(asking: MissSearch, mine: MissSearch | undefined): readonly Candidate[] {
  const { request, held } = asking
  const anyConditions = actionTable(request).roleLevel((name) => hasAttribute(request, name), 'any')
  const starts = anyConditions.relationColumns('allows').flatMap((column) => waysToFit(column, held, request))
  // A command may need two rules, which ask for different relations.
  const needsTwo = request.resource.actions.get(request.endpoint.action)?.also !== undefined
  const pairs = needsTwo ? starts.flatMap((one) => starts.map((other) => [...new Set([...one, ...other])])) : []
  const queue = new Map(
    [[], ...starts, ...pairs].map((changes) => [keyOf(changes), changes as readonly NeededChange[]]),
  )
  const found: Candidate[] = []
  // A Map's iterator also visits entries that are added while it runs.
  for (const changes of queue.values()) {
    if (isAllowedWith(asking, changes)) {
      found.push(...leastOf(asking, mine, changes))
    } else if (queue.size < MOST_TRIED && changes.filter(avoidsDeny).length < MOST_DENIES) {
      for (const more of withoutADeny(request, held, changes)) queue.set(keyOf(more), more)
    }
  }
  return found
}

/**
 * The smallest parts of these changes that allow the request, for the present caller and for the other one. Sometimes two
 * changes can be left out together, and neither alone: a new value of a field ends what held by the old value.
 */
function leastOf(
  asking: MissSearch,
  mine: MissSearch | undefined,
  changes: readonly NeededChange[],
): readonly Candidate[] {
  const left = changes.reduce((kept, change) => {
    const fewer = kept.filter((one) => one !== change)
    return isAllowedWith(asking, fewer) ? fewer : kept
  }, changes)
  const found = new Map<readonly NeededChange[], Candidate>()
  for (const by of new Set([mine ?? asking, asking])) {
    for (const part of [...smallestSubsets(left, MOST_PARTS), left]) {
      const hasPart = found.keys().some((one) => one.every((change) => part.includes(change)))
      if (!hasPart && isAllowedWith(by, part)) found.set(part, candidateOf(by, part))
    }
  }
  return [...found.values()]
}

function avoidsDeny({ kind }: NeededChange): boolean {
  return kind === 'deny' || kind.startsWith('not-')
}

/** These changes with one more, which removes a matching deny or makes it not match. */
function withoutADeny(
  request: HypotheticalRequest,
  held: Held,
  changes: readonly NeededChange[],
): readonly (readonly NeededChange[])[] {
  const after = heldAfter(changes, held, request)
  if (!after) return []
  const gone = droppedBy(changes)
  const refused = settled(after, request).filter((one) => !isAllowed(request, one, gone))
  const matching = new Set(refused.slice(0, 1).flatMap((one) => grantsTo(request, one).flatMap(({ denies }) => denies)))
  const denies = [...matching].filter((rule) => !gone.has(rulePlace(rule.line)))
  const drops = denies.map((rule) => [...changes, denyChange(rule)])
  const fewest = denies.length > 1 ? [[...changes, ...denies.map(denyChange)]] : []
  const misses = denies.flatMap((rule) => waysToMiss(rule, after, request))
  return [...drops, ...fewest, ...misses.map((way) => [...changes, ...way])]
}

function candidateOf({ request, held, needed, ...other }: MissSearch, changes: readonly NeededChange[]): Candidate {
  const allows = grantsTo(request, heldAfter(changes, held, request) ?? held).at(-1)?.allows ?? []
  const rules = allows.filter(({ subject }) => needed === undefined || subject === needed)
  return { changes: [...other.changes, ...changes], rules }
}

/** The first decision, and the second one if a result is assumed. */
function grantsTo(request: HypotheticalRequest, { relations, conditions, result }: Held): readonly Grant[] {
  const table = actionTable(request)
  const stored = namesFrom(relations, request)
  const first = table.grant([...stored, ...conditions])
  if (!result) return [first]
  const { names } = hypotheticalResultOf(request, stored, { before: relations, after: result })
  const [before, mixed] = [names.stored, names.mixed].map((some) => [...some, ...conditions])
  return [first, table.grantResult({ stored: before ?? [], mixed: mixed ?? [], proposed: names.proposed })]
}

function isAllowedWith({ request, held }: MissSearch, changes: readonly NeededChange[]): boolean {
  const after = heldAfter(changes, held, request)
  return after !== undefined && settled(after, request).every((one) => isAllowed(request, one, droppedBy(changes)))
}

function isAllowed(request: HypotheticalRequest, held: Held, dropped: ReadonlySet<string>): boolean {
  const asked = holdingExactly(without(request, dropped), [...held.conditions])
  const written = held.result && { before: held.relations, after: held.result }
  const decision = decideOn(asked, namesFrom(held.relations, request), written)
  return decision.kind === 'route' || (decision.kind === 'hypothetical' && !decision.refusal)
}

function droppedBy(changes: readonly NeededChange[]): ReadonlySet<string> {
  return new Set(changes.flatMap((change) => (change.kind === 'deny' ? [change.rule] : [])))
}

function without(request: HypotheticalRequest, gone: ReadonlySet<string>): HypotheticalRequest {
  if (gone.size === 0) return request
  return withRules(
    request,
    request.parsed.rules.filter((rule) => !gone.has(rulePlace(rule.line))),
  )
}

function denyChange(rule: Rule): NeededChange {
  return { kind: 'deny', rule: rulePlace(rule.line) }
}

function keyOf(changes: readonly NeededChange[]): string {
  return [...new Set(changes.map((change) => JSON.stringify(change)))].toSorted().join()
}

const ORDER: readonly NeededChange['kind'][] = [
  'relation',
  'result',
  'condition',
  'not-relation',
  'not-result',
  'not-condition',
  'deny',
  'credentials',
  'role',
  'user',
]

/** Few changes come first; for the same number, a relation comes before another role. */
function rank({ changes }: Candidate): number {
  return changes.length * ORDER.length + Math.max(0, ...changes.map(({ kind }) => ORDER.indexOf(kind)))
}

// ---- The relations and conditions that a near miss can't rely on: nothing says whether they hold for its caller. What
// is known about one caller says little about another person, or about the same one with credentials.

/** Relations without parts, and conditions. */
interface NamesKnown {
  /** Those that hold, also if no rule about the caller names them. */
  readonly certain: Names
  readonly unknown: Names
}

/** `decided`: the names of a case, which says of each whether it holds. `named`: the conditions that any rule names. */
function namesKnown(
  question: ExplainQuestion,
  request: HypotheticalRequest,
  { decided, named }: { readonly decided: Names; readonly named: Names },
): NamesKnown {
  const leaves = new Set(declaredRelations(request).flatMap(leavesOf))
  const relations = relationFacts(question, request).filter(({ name }) => [...leaves].some((one) => one.name === name))
  const conditions = conditionFacts(question, named)
  const those = (holds: boolean | null) => [...relations, ...conditions].filter((one) => one.holds === holds)
  const certain = conditions.filter(({ holds }) => holds === true).map(({ name }) => name)
  return { certain: new Set(certain), unknown: new Set(those(null).map(({ name }) => name)).difference(decided) }
}

/** The names that the cases of a request tell apart. */
export function decidedByCases(request: HypotheticalRequest): Names {
  const leaves = relationsAsked(request).flatMap(leavesOf)
  return new Set([...leaves.map(({ name }) => name), ...conditionsAsked(request)])
}

/** The unknown names in rules about a caller. The states of --becomes are known. */
function openFor({ request, changes }: OtherCaller, question: ExplainQuestion, { unknown }: NamesKnown): Names {
  const table = actionTable(request)
  const leaves = table.compared.flatMap(leavesOf).filter(({ name }) => !request.becomes?.states.has(name))
  const isAnonymous = request.subject.caller === undefined
  const relations = leaves.filter((leaf) => {
    if (needsCaller(leaf) && isAnonymous) return false
    return unknown.has(leaf.name) || (isStranger(question, changes) && needsCaller(leaf))
  })
  const conditions = table.conditions.filter((name) => unknown.has(name) || isNew(question, changes, request, name))
  return new Set([...relations.map(({ name }) => name), ...conditions])
}

/** Whether the relations of the caller who asks say nothing about this one; --relation says those of any caller. */
function isStranger({ caller, known }: ExplainQuestion, changes: readonly NeededChange[]): boolean {
  if (changes.length === 0 || (known.kind === 'relations' && known.from === '--relation')) return false
  if (caller.kind === 'anonymous') return true
  return caller.subject !== undefined && changes.some(({ kind }) => kind === 'user')
}

/** Whether a condition may hold because the caller has credentials now; --with says what holds. */
function isNew(
  { caller, assumed }: ExplainQuestion,
  changes: readonly NeededChange[],
  { parsed }: HypotheticalRequest,
  name: string,
): boolean {
  if (changes.length === 0 || caller.kind !== 'anonymous' || assumed.conditions?.from === '--with') return false
  const condition = parsed.conditions.get(name)
  return condition !== undefined && conditionNeedsCaller(condition)
}
