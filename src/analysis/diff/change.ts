/** The differences between two policies, as data and as one sentence: `support gains delete on orders (any)`. */
import { timeText } from '../../base/time.ts'
import { listed, type Phrase, say } from '../../present/phrase.ts'

/**
 * Whether more or less is possible afterwards. `either`: that depends on objects or callers which the policy doesn't
 * know. `neutral`: no request is decided differently.
 */
export type Direction = 'widening' | 'narrowing' | 'either' | 'neutral'

/** All names of `with` hold and none of `without`; both empty for `any`. */
export interface NameSets {
  readonly with: readonly string[]
  readonly without: readonly string[]
}

/** For the stored object, and, if that counts, for the result of a write: as the two sides of a relation column. */
export interface ScopeTerm extends NameSets {
  readonly becomes?: NameSets
}

/** The sets of relations for which something changed: one of `when`. `besides` was granted before and still is. */
export interface ChangeScope {
  readonly when: readonly ScopeTerm[]
  readonly besides: readonly ScopeTerm[]
}

/**
 * What changed. `action`: whether the action is allowed. `fields`: only its fields. `role level`: only whether the role
 * level refuses, because no object can have such relations to a caller. `object level`: only whether a write is refused
 * before its result is looked at, because all results are refused. `query`: only the fields that a list may be filtered
 * and sorted by, among the fields that it shows.
 */
export type ChangedPart = 'action' | 'fields' | 'role level' | 'object level' | 'query'

/** A caller may do something that it could not do before, or the other way round. */
export interface DecisionChange {
  readonly kind: 'decision'
  /** Subjects, alone or two together; the sentence is about the first. */
  readonly callers: readonly (readonly string[])[]
  /** If `everyone` is the first caller: the subjects for which nothing changes. */
  readonly unchanged: readonly string[]
  readonly effect: 'gains' | 'loses'
  readonly part: ChangedPart
  readonly resources: readonly string[]
  readonly actions: readonly string[]
  /** Undefined for all fields of the action. */
  readonly fields: readonly string[] | undefined
  /** Undefined if it differs between the second subjects: the change goes as far as the second subject grants it. */
  readonly scope: ChangeScope | undefined
  /** When the change begins, because a rule ends; absent for a change at once. Milliseconds since the epoch. */
  readonly from?: number
  /** When the change ends; absent for a lasting change. */
  readonly until?: number
}

type Setting = string | number | boolean | readonly string[] | null

/**
 * A change of another setting. `before` and `after` are in the form that a person would write; null if it is absent.
 */
export interface SettingChange {
  readonly kind:
    | 'relation'
    | 'owner'
    | 'fill'
    | 'conceal'
    | 'condition'
    | 'route-view'
    | 'role'
    | 'privileged'
    | 'role-claims'
    | 'limit'
    | 'limit-role'
    | 'body-size'
    | 'object-size'
    | 'answer-size'
    | 'page-size'
    | 'blocked'
    | 'mask'
    | 'guarantee'
    | 'subscription'
    | 'caller'
  readonly direction: Direction
  /** The relation, condition, route, role, limit or user; for other kinds a fixed word. */
  readonly name: string
  /** If it belongs to a resource. */
  readonly resource?: string
  readonly before: Setting
  readonly after: Setting
  readonly sentence: Phrase
}

/** What only one of two policies has, as a change for what came and another one for what went. */
export function cameAndWent(
  { before, after }: Readonly<Record<'before' | 'after', readonly string[]>>,
  changeOf: (names: readonly string[], came: boolean) => SettingChange,
): readonly SettingChange[] {
  const came = after.filter((name) => !before.includes(name))
  const went = before.filter((name) => !after.includes(name))
  return [...(came.length > 0 ? [changeOf(came, true)] : []), ...(went.length > 0 ? [changeOf(went, false)] : [])]
}

export type PolicyDifference = DecisionChange | SettingChange

export function directionOf(change: PolicyDifference): Direction {
  if (change.kind !== 'decision') return change.direction
  // A PUT removes what the first decision opens to it, so that more may be refused.
  if (change.part === 'object level') return 'either'
  return change.effect === 'gains' ? 'widening' : 'narrowing'
}

export function changeSentence(change: PolicyDifference): Phrase {
  return change.kind === 'decision' ? say`${changePhrase(change)}${timesPhrase(change)}` : change.sentence
}

/** A list of terms; one of them holds. */
export interface ScopeList {
  readonly label: 'where' | 'had' | 'keeps'
  readonly terms: readonly Phrase[]
}

/** A change for a reader with more than one line: the scope is apart where a sentence would be a long list of terms. */
export interface ChangeParts {
  readonly sentence: Phrase
  readonly scope: readonly ScopeList[]
}

/** With more terms, nobody finds the end of the sentence. */
const MOST_TERMS = 2

export function changeParts(change: PolicyDifference): ChangeParts {
  const scope = change.kind === 'decision' ? change.scope : undefined
  if (change.kind !== 'decision' || !scope || scope.when.length + scope.besides.length <= MOST_TERMS) {
    return { sentence: changeSentence(change), scope: [] }
  }
  const kept = { label: change.effect === 'gains' ? 'had' : 'keeps', terms: groupedTerms(scope.besides) } as const
  const number = scope.when.length === 1 ? say`in 1 case` : say`in ${scope.when.length} cases`
  return {
    sentence: say`${changePhrase(change, number)}${timesPhrase(change)}`,
    scope: [{ label: 'where' as const, terms: groupedTerms(scope.when) }, kept].filter(({ terms }) => terms.length > 0),
  }
}

/** What becomes of the same stored object together: `owner+draft>placed or shipped`. */
function groupedTerms(terms: readonly ScopeTerm[]): readonly Phrase[] {
  const groups = Map.groupBy(terms, ({ becomes, ...stored }) => JSON.stringify([stored, becomes !== undefined]))
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (!first?.becomes) return group.map(termPhrase)
    const results = group.flatMap(({ becomes }) => (becomes ? [sidePhrase(becomes)] : []))
    return [say`${sidePhrase(first)}>${listed(results, say` or `)}`]
  })
}

function timesPhrase({ from, until }: DecisionChange): Phrase {
  if (from === undefined) return until === undefined ? [] : say`, until ${timeText(until)}`
  return until === undefined ? say`, from ${timeText(from)} on` : say`, from ${timeText(from)} until ${timeText(until)}`
}

function changePhrase(change: DecisionChange, when = scopePhrase(change)): Phrase {
  const { part } = change
  const effect = change.effect === 'gains' ? say`gains` : say`loses`
  const actions = listed(change.actions)
  const resources = listed(change.resources)
  const who = say`${callersPhrase(change)} ${effect}`
  if (part === 'fields') return say`${who} ${fieldsPhrase(change.fields ?? [])} on ${resources} (${actions}, ${when})`
  if (part === 'query') {
    const always = change.scope?.when.every((term) => term.with.length + term.without.length === 0) ?? true
    const where = always ? actions : say`${actions}, ${when}`
    return say`${who} filtering and sorting by ${fieldsPhrase(change.fields ?? [])} on ${resources} (${where})`
  }
  const whole = say`${who} ${actions} on ${resources} (${when})`
  if (part === 'role level') return say`${whole}, which no object can meet`
  if (part === 'object level') return say`${whole}, where every result is refused`
  return change.fields ? say`${whole}, only ${fieldsPhrase(change.fields)}` : whole
}

function callersPhrase({ callers, unchanged }: DecisionChange): Phrase {
  const [[first = '', partner] = [], ...others] = callers
  if (first === 'everyone') {
    if (others.length === 0) return say`everyone without a role`
    return unchanged.length === 0 ? say`everyone` : say`everyone (no change for: ${listed(unchanged, say`, `)})`
  }
  const who = partner === undefined ? say`${first}` : say`${first} together with ${partner}`
  if (others.length === 0) return who
  const also = others.map((caller) => caller.at(-1) ?? '')
  return say`${who} (also: ${listed(also, say`, `)})`
}

function fieldsPhrase(fields: readonly string[]): Phrase {
  return fields.length === 1 ? say`field ${listed(fields)}` : say`fields ${listed(fields)}`
}

function scopePhrase({ effect, scope }: DecisionChange): Phrase {
  if (!scope) return say`as far as the other grants it`
  const { when, besides } = scope
  const where = listed(when.map(termPhrase), OR)
  if (besides.length === 0) return where
  const others = listed(besides.map(termPhrase), OR)
  return effect === 'gains' ? say`${where}, had ${others}` : say`${where}, keeps ${others}`
}

const OR = say`, or `

/** `owner+draft without shipped or sent`, or as a relation column: `owner+!late>placed`. */
function termPhrase(term: ScopeTerm): Phrase {
  if (term.becomes) return say`${sidePhrase(term)}>${sidePhrase(term.becomes)}`
  const held = term.with.length === 0 ? [] : [say`${term.with.join('+')}`]
  const absent = term.without.length === 0 ? [] : [say`without ${listed(term.without, say` or `)}`]
  const words = [...held, ...absent]
  return words.length === 0 ? say`any` : listed(words, say` `)
}

function sidePhrase(names: NameSets): Phrase {
  const held = names.with.length === 0 ? [] : [say`${names.with.join('+')}`]
  const terms = [...held, ...names.without.map((name) => say`!${name}`)]
  return terms.length === 0 ? say`any` : listed(terms, say`+`, say`+`)
}
