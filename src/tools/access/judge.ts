/** One caller and one request: in which cases the gate allows it. What isn't known of the request is tried both ways. */
import { smallestSubsets, subsets } from '../../base/subsets.ts'
import type { Caller } from '../../decide/caller.ts'
import { decide, isBlocked, type Question } from '../../decide/decide.ts'
import type { Evidence } from '../../decide/evidence.ts'
import { type FactSource, withFacts } from '../../decide/facts.ts'
import { DEFAULT_TRUST } from '../../decide/grants/trust.ts'
import { isRefusal } from '../../decide/refusal.ts'
import { conditionHolds, type RequestCondition } from '../../decide/request-conditions/all-conditions.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import type { Blocked } from '../../policy/parse/parse-blocked.ts'
import type { FieldNames, Resources } from '../../resources/resource.ts'
import { fieldsGranted } from '../../server/authzen/ask.ts'
import type { AskedRoute } from '../../server/authzen/asked-routes.ts'

/** A request without its caller. */
export interface JudgedRequest {
  readonly resources: Resources
  readonly snapshot: Snapshot
  readonly blocked: Blocked
  readonly target: AskedRoute
  /** Undefined where no object is concerned, or the caller's own record is. */
  readonly id: string | undefined
  /** Undefined for any field. */
  readonly field: string | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** `depends`: on the values that the request sends. */
export interface JudgedAccess {
  readonly answer: 'yes' | 'no' | 'depends'
  readonly fields: FieldNames
  readonly evidence: Evidence | undefined
  /** Roles and `user:<id>` that the caller may have besides: each has a deny that would match. */
  readonly unless?: readonly string[]
}

const NO_FIELDS: FieldNames = new Set()
export const REFUSED: JudgedAccess = { answer: 'no', fields: NO_FIELDS, evidence: undefined }

/** As a list of the relation column: `office+fresh`, `!office`; empty if it is allowed in each case. */
export type Cases = readonly string[]

export interface InCases {
  /** Undefined if it is refused in each case. */
  readonly when: Cases | undefined
  /** Of the smallest case. */
  readonly judged: JudgedAccess
  /** The fields that are granted in each case; cases with the same fields are one. */
  readonly byCase: readonly FieldsInCase[]
}

export interface FieldsInCase {
  readonly when: Cases
  readonly fields: readonly string[]
}

/** Each doubles the number of decisions. */
export const MOST_UNKNOWN = 6

/**
 * What is judged in each case, the smallest first. Undefined if too much is unknown. `judge`: while exactly these names
 * hold; `named` collects what it asks for.
 */
export async function eachCase<T>(judge: JudgeCase<T>) {
  const named = new Set<string>()
  const first = await judge(new Set(), named)
  if (named.size > MOST_UNKNOWN) return undefined
  const unknown = [...named]
  const cases: { readonly set: readonly string[]; readonly judged: T }[] = []
  for (const set of smallestSubsets(unknown))
    cases.push({ set, judged: set.length === 0 ? first : await judge(new Set(set), named) })
  return { unknown, cases }
}

type JudgeCase<T> = (assumed: ReadonlySet<string>, named: Set<string>) => T | Promise<T>

/** Undefined if too much is unknown. */
export async function inCases(judge: JudgeCase<JudgedAccess>): Promise<InCases | undefined> {
  const tried = await eachCase(judge)
  if (!tried) return undefined
  const { unknown, cases } = tried
  const allowed = cases.filter(({ judged }) => judged.answer !== 'no')
  const textOf = (some: typeof allowed) =>
    casesText(
      unknown,
      some.map(({ set }) => set),
    )
  const alike = Map.groupBy(allowed, ({ judged }) => [...judged.fields].toSorted().join())
  const smallest = [...allowed, ...cases][0]?.judged ?? REFUSED
  return {
    when: allowed.length === 0 ? undefined : textOf(allowed),
    judged: { ...smallest, unless: [...new Set(allowed.flatMap(({ judged }) => judged.unless ?? []))] },
    byCase: [...alike.values()].map((some) => ({ when: textOf(some), fields: [...(some[0]?.judged.fields ?? [])] })),
  }
}

/** The smallest sets, where more of the names never take it away; else each set in full. */
export function casesText(unknown: readonly string[], allowed: readonly (readonly string[])[]): Cases {
  if (allowed.length === 2 ** unknown.length) return []
  const isWithin = (set: readonly string[], other: readonly string[]) => set.every((name) => other.includes(name))
  const smallest = allowed.filter((set) => !allowed.some((other) => other !== set && isWithin(other, set)))
  const above = subsets(unknown).filter((set) => smallest.some((one) => isWithin(one, set)))
  if (above.length === allowed.length) return smallest.map((set) => set.join('+'))
  return allowed.map((set) => unknown.map((name) => (set.includes(name) ? name : `!${name}`)).join('+'))
}

/** Whether the condition holds, as far as the caller and the time tell; an address and a sign-in are never known. */
function knownOf(condition: RequestCondition, caller: Caller | undefined, now: number): boolean | undefined {
  const { kind } = condition
  const isKey = caller?.credential?.startsWith('key ') === true
  if (kind === 'network' || kind === 'asserted') return undefined
  if (kind === 'signedIn' && caller && !isKey) return undefined
  const kinds = isKey ? ['api-key'] : ['password', 'provider']
  const held = kinds.map((credential) =>
    conditionHolds(condition, { now, credential: caller && credential, hasCredentials: caller !== undefined }),
  )
  return held.every((one) => one === held[0]) ? held[0] : undefined
}

/** The question of this caller while exactly these of the unknown conditions hold. */
export function questionBy(
  { target, snapshot, blocked, id, now }: JudgedRequest,
  caller: Caller | undefined,
  assumed: ReadonlySet<string>,
  named: Set<string>,
): Question & { readonly holding: (condition: RequestCondition) => boolean } {
  const holding = (condition: RequestCondition) => {
    const known = knownOf(condition, caller, now)
    if (known === undefined) named.add(condition.name)
    return known ?? assumed.has(condition.name)
  }
  const isOut = caller !== undefined && isBlocked(blocked, caller.id, now)
  return { ...target, subject: snapshot.subjectOf(caller), blocked: isOut, id, now, holding }
}

/** One decision of the gate, and the fields that it grants. */
export async function judge(request: JudgedRequest, question: Question, facts: FactSource): Promise<JudgedAccess> {
  const { snapshot, target, field, resources, blocked, now, id = '' } = request
  const ask: Parameters<typeof fieldsGranted>[0]['ask'] = (steps) => withFacts(steps, facts)
  const decision = await ask(decide(question, snapshot))
  if (isRefusal(decision)) return REFUSED
  if (decision.kind === 'route') return { answer: 'yes', fields: NO_FIELDS, evidence: decision.evidence }
  if (decision.kind === 'list') return judged(decision.shown, field, decision.evidence)
  if (decision.kind === 'watch') {
    const seen = judged(decision.shown, field, decision.evidence)
    // The stream opens also where no event may ever show a field.
    return field === undefined ? { ...seen, answer: 'yes' } : seen
  }
  const by = { policy: { snapshot, blocked }, trust: DEFAULT_TRUST, resources, now, ask }
  const subject = { type: 'user', id: question.subject.caller?.id ?? '' }
  const about = { subject, resource: { type: target.resource.name, id }, action: { name: target.endpoint.action } }
  const granted = await fieldsGranted(by, decision, target, about)
  // The object that the body makes may be another one; of a command without input, it is known.
  const isSure = target.route.command && !target.route.command.input
  if (isRefusal(granted))
    return isSure ? REFUSED : { answer: 'depends', fields: NO_FIELDS, evidence: decision.evidence }
  const { fields, all, evidence, dependsOnBody = decision.kind === 'create' } = granted
  if (decision.kind === 'delete') return { answer: 'yes', fields: NO_FIELDS, evidence }
  const one = judged(fields.intersection(all), field, evidence)
  const isOpen = decision.kind !== 'update' || field === undefined || decision.writable.has(field)
  return one.answer === 'no' && dependsOnBody && isOpen ? { ...one, answer: 'depends' } : one
}

export function judged(fields: FieldNames, field: string | undefined, evidence: Evidence | undefined): JudgedAccess {
  const isGranted = field === undefined ? fields.size > 0 : fields.has(field)
  return { answer: isGranted ? 'yes' : 'no', fields, evidence }
}
