/** What recorded requests needed of a policy: how often, for how many people, and when last. */

import { resolve } from 'node:path'
import type { Limit, Policy, Rule } from '../../decide/policy.ts'
import { coversResource } from '../../decide/rules/terms.ts'
import { type DecisionRecord, MASKED } from '../../decision-log/decision-record.ts'
import { count } from '../../present/text.ts'
import type { Resources } from '../../resources/resource.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import { readLog } from '../replay/replay.ts'
import { CoveredTime, type LogCoverage, notNamedOf, type Window, whyNotCovered } from './coverage.ts'
import { isOfGrant, NeededParts, type Needs } from './needed-parts.ts'
import { type PolicyPart, policyParts } from './parts.ts'

/**
 * `redundant`: requests matched it, and each would have got the same answer without it. `undecided`: nobody was seen to
 * need it, but the logs don't show everything.
 */
export type UseVerdict = 'used' | 'redundant' | 'unused' | 'undecided'

export interface Used {
  readonly use: UseVerdict
  /** Requests that would have got another answer without it. */
  readonly decided: number
  /** Of the last of them; milliseconds since the epoch. */
  readonly last: number | undefined
  /** Why it is undecided. */
  readonly why: readonly string[]
}

export interface PartUse extends Used {
  readonly part: PolicyPart
  /** Refused requests that would be refused with another answer. */
  readonly refusing: number
}

export interface LineUse extends PartUse {
  /** Requests that it matched. */
  readonly matched: number
  readonly people: number
  /** There are more people than were counted. */
  readonly morePeople: boolean
  readonly parts: readonly PartUse[]
}

interface ViewUse extends Used {
  readonly resource: string
  readonly view: string
  readonly fields: readonly PartUse[]
}

interface RoleUse extends Used {
  readonly role: string
  /** Allowed requests of people who have it. */
  readonly requests: number
  readonly people: number
  readonly morePeople: boolean
}

interface KeyUse {
  readonly key: string
  readonly requests: number
  readonly last: number
}

interface LimitUse {
  readonly limit: string
  /** Requests that it counts, as far as records tell. */
  readonly requests: number
  /** Of these, refused by a limit: records don't tell which. */
  readonly refused: number
}

export interface Usage {
  readonly window: Window
  readonly loaded: LoadedPolicy
  readonly coverage: LogCoverage
  readonly decided: number
  readonly unconcerned: number
  readonly leftOut: number
  readonly otherLines: number
  /** By reason. */
  readonly undecidable: ReadonlyMap<string, number>
  /** Answers that told what the caller can do (`?can=true`): no replay decides that again. */
  readonly abilities: number
  readonly lines: readonly LineUse[]
  readonly views: readonly ViewUse[]
  readonly roles: readonly RoleUse[]
  readonly keys: readonly KeyUse[]
  /** Allowed requests of API keys beyond the bound: these keys aren't listed. */
  readonly otherKeys: number
  readonly limits: readonly LimitUse[]
}

interface UsageOptions {
  readonly loaded: LoadedPolicy
  readonly resources: Resources
  readonly files: readonly string[]
  readonly window: Window
  /** Called for each line with its length in characters. */
  readonly onProgress: (characters: number) => void
  /** Called for each record of the time. */
  readonly onRecord?: (record: DecisionRecord) => void
}

/** Throws ToolError for files without decision records. */
export async function usageOf(options: UsageOptions): Promise<Usage> {
  const { loaded, resources, files, window, onProgress } = options
  const parts = policyParts(loaded.policy, resources)
  const needed = new NeededParts(loaded, resources, parts)
  const covered = new CoveredTime(window)
  const tally = new UsageTally(loaded.policy, resources)
  let [leftOut, otherLines, records] = [0, 0, 0]
  const onRecord = async (record: DecisionRecord) => {
    records += 1
    const time = Date.parse(record.time)
    if (time < window.since || time >= window.until) {
      leftOut += 1
      return
    }
    covered.add(time, record.write)
    options.onRecord?.(record)
    tally.add(record, time, await needed.of(record))
  }
  const onOther = (line: string) => {
    otherLines += 1
    covered.addOther(line)
  }
  const distinct = [...new Map(files.map((file) => [resolve(file), file])).values()]
  for (const file of distinct) {
    const before = { records, otherLines }
    await readLog(file, { onRecord, onOther, onProgress })
    if (otherLines > before.otherLines && records === before.records) {
      throw new ToolError(`${file} holds no decision record: name decision logs`)
    }
  }
  const coverage = covered.result(await notNamedOf(files))
  return { window, loaded, coverage, leftOut, otherLines, ...tally.result(parts, whyNotCovered(coverage)) }
}

/** For each line, and altogether. Further people aren't counted. */
const MOST_PEOPLE = 100_000
const MOST_NAMES = 500_000
const MOST_KEYS = 10_000

/** A write needs a field of a view only where it changes it; these show all of them. */
const SHOWING = ['read', 'list']
const SEEN_BY: Readonly<Partial<Record<PolicyPart['kind'], readonly string[]>>> = { line: [''], view: SHOWING }

interface PartTally {
  decided: number
  refusing: number
  last: number | undefined
  readonly unseen: Map<string, number>
}

class People {
  readonly #ids = new Set<number>()
  more = false

  add(id: number | undefined): void {
    if (id === undefined) return
    if (this.#ids.size < MOST_PEOPLE) this.#ids.add(id)
    else if (!this.#ids.has(id)) this.more = true
  }

  get counted() {
    return { people: this.#ids.size, morePeople: this.more }
  }
}

interface RoleTally {
  readonly people: People
  requests: number
  decided: number
  last: number | undefined
}

class UsageTally {
  readonly #policy: Policy
  readonly #resources: Resources
  readonly #parts = new Map<PolicyPart, PartTally>()
  readonly #matched = new Map<string, number>()
  readonly #people = new Map<PolicyPart, People>()
  readonly #roles: ReadonlyMap<string, RoleTally>
  readonly #keys = new Map<string, { requests: number; last: number }>()
  readonly #limits: readonly { readonly limit: Limit; requests: number; refused: number }[]
  readonly #names = new Map<string, number>()
  readonly #undecidable = new Map<string, number>()
  #decided = 0
  #unconcerned = 0
  #abilities = 0
  #otherKeys = 0

  constructor(policy: Policy, resources: Resources) {
    this.#policy = policy
    this.#resources = resources
    this.#limits = policy.limits.limits.map((limit) => ({ limit, requests: 0, refused: 0 }))
    this.#roles = new Map(
      [...policy.roles.keys()].map((role) => [
        role,
        { people: new People(), requests: 0, decided: 0, last: undefined },
      ]),
    )
  }

  add(record: DecisionRecord, time: number, needs: Needs): void {
    this.#addToLimits(record)
    if (needs.kind === 'unconcerned') this.#unconcerned += 1
    else if (needs.why !== undefined) this.#undecidable.set(needs.why, (this.#undecidable.get(needs.why) ?? 0) + 1)
    else this.#decided += 1
    for (const [part, why] of needs.unseen) {
      const { unseen } = this.#tallyOf(part)
      unseen.set(why, (unseen.get(why) ?? 0) + 1)
    }
    for (const part of needs.refusing) this.#tallyOf(part).refusing += 1
    const person = this.#personOf(record)
    for (const part of needs.needed) this.#addNeeded(part, time, person)
    for (const line of needs.lines) this.#addMatched(`${line} `)
    for (const line of needs.lines) this.#addMatched(`${line} ${record.action}`)
    this.#addToRoles(needs, time, person)
    if (needs.kind === 'allowed') this.#addAllowed(record, time)
  }

  #addMatched(key: string): void {
    this.#matched.set(key, (this.#matched.get(key) ?? 0) + 1)
  }

  /** Requests that may have shown or done what the part says, among those that matched its line. */
  #matchedBy(part: PolicyPart): number {
    if (part.kind === 'term') return 0
    const matched = (rule: Rule, actions: readonly string[]) =>
      actions.reduce((sum, action) => sum + (this.#matched.get(`${rule.line} ${action}`) ?? 0), 0)
    if (part.kind !== 'field') return matched(part.of, SEEN_BY[part.kind] ?? [part.name])
    const { resource, view } = part
    const about = this.#resources.byName.get(resource)
    const naming = this.#policy.rules.filter(
      (rule) => rule.views.includes(view) && about && coversResource(rule, about),
    )
    return naming.reduce((sum, rule) => sum + matched(rule, SHOWING), 0)
  }

  #addNeeded(part: PolicyPart, time: number, person: number | undefined): void {
    const tally = this.#tallyOf(part)
    tally.decided += 1
    tally.last = later(tally.last, time)
    if (part.kind === 'line') this.#people.getOrInsertComputed(part, () => new People()).add(person)
  }

  #addToRoles({ needed }: Needs, time: number, person: number | undefined): void {
    if (needed.length === 0) return
    for (const role of new Set(needed.flatMap((part) => (part.kind === 'line' ? [part.of.subject] : [])))) {
      const tally = this.#roles.get(role)
      if (!tally) continue
      tally.decided += 1
      tally.last = later(tally.last, time)
      tally.people.add(person)
    }
  }

  #addAllowed({ roles = [], credential, can }: DecisionRecord, time: number): void {
    if (can) this.#abilities += 1
    for (const role of roles) {
      const tally = this.#roles.get(role)
      if (tally) tally.requests += 1
    }
    if (!credential?.startsWith('key ')) return
    if (this.#keys.size >= MOST_KEYS && !this.#keys.has(credential)) {
      this.#otherKeys += 1
      return
    }
    const key = this.#keys.getOrInsertComputed(credential, () => ({ requests: 0, last: time }))
    key.requests += 1
    key.last = Math.max(key.last, time)
  }

  #addToLimits(record: DecisionRecord): void {
    const times = record.repeated ?? 1
    for (const tally of this.#limits) {
      if (!mayCount(tally.limit, record)) continue
      tally.requests += times
      if (record.problem === 'quota-exceeded') tally.refused += times
    }
  }

  #personOf({ subject }: DecisionRecord): number | undefined {
    if (subject === undefined || subject === MASKED) return undefined
    if (this.#names.size >= MOST_NAMES) return this.#names.get(subject)
    return this.#names.getOrInsertComputed(subject, () => this.#names.size)
  }

  #tallyOf(part: PolicyPart): PartTally {
    return this.#parts.getOrInsertComputed(part, () => ({
      decided: 0,
      refusing: 0,
      last: undefined,
      unseen: new Map(),
    }))
  }

  result(parts: readonly PolicyPart[], notCovered: readonly string[]) {
    const useOf = (part: PolicyPart): PartUse => {
      const { decided, refusing, last, unseen } = this.#tallyOf(part)
      const asked = [...unseen].map(
        ([why, requests]) => `${count(requests, 'request')} that may need it could not be decided again: ${why}`,
      )
      const why = decided > 0 ? [] : [...notCovered, ...asked]
      return { part, decided, refusing, last, why, use: verdictOf(decided, why, this.#matchedBy(part)) }
    }
    const byLine = Map.groupBy(parts, (part) => (part.kind === 'field' ? undefined : part.of))
    const lines = this.#policy.rules.flatMap((rule): readonly LineUse[] => {
      const [whole, ...rest] = byLine.get(rule) ?? []
      if (!whole) return []
      const people = (this.#people.get(whole) ?? new People()).counted
      return [{ ...useOf(whole), matched: this.#matchedBy(whole), ...people, parts: rest.map(useOf) }]
    })
    return {
      decided: this.#decided,
      unconcerned: this.#unconcerned,
      undecidable: this.#undecidable,
      abilities: this.#abilities,
      lines,
      views: viewsOf(parts.filter((part) => part.kind === 'field').map(useOf)),
      roles: [...this.#roles].map(([role, tally]) => roleUse(role, tally, lines, notCovered)),
      keys: [...this.#keys].map(([key, tally]) => ({ key, ...tally })),
      otherKeys: this.#otherKeys,
      limits: this.#limits.map(({ limit, ...counts }) => ({ limit: limit.name, ...counts })),
    }
  }
}

function verdictOf(decided: number, why: readonly string[], matched: number): UseVerdict {
  if (decided > 0) return 'used'
  if (why.length > 0) return 'undecided'
  return matched > 0 ? 'redundant' : 'unused'
}

function later(one: number | undefined, other: number): number {
  return one === undefined ? other : Math.max(one, other)
}

function viewsOf(fields: readonly PartUse[]): readonly ViewUse[] {
  const byView = Map.groupBy(fields, ({ part }) => (part.kind === 'field' ? `${part.resource} ${part.view}` : ''))
  return [...byView].map(([name, ofView]) => {
    const [resource = '', view = ''] = name.split(' ')
    const decided = Math.max(...ofView.map((one) => one.decided))
    const last = ofView.reduce<number | undefined>(
      (at, one) => (one.last === undefined ? at : later(at, one.last)),
      undefined,
    )
    const why = decided > 0 ? [] : [...new Set(ofView.flatMap((one) => one.why))]
    const matched = ofView.some(({ use }) => use === 'redundant') ? 1 : 0
    return { resource, view, decided, last, why, use: verdictOf(decided, why, matched), fields: ofView }
  })
}

function roleUse(role: string, tally: RoleTally, lines: readonly LineUse[], notCovered: readonly string[]): RoleUse {
  const own = lines.filter(({ part }) => part.kind !== 'field' && part.of.subject === role)
  const { requests, decided, last, people } = tally
  const why = decided > 0 ? [] : [...new Set([...notCovered, ...own.flatMap((line) => line.why)])]
  return { role, requests, decided, last, ...people.counted, why, use: verdictOf(decided, why, requests) }
}

/** As far as a record tells: the roles of a record don't have those that they inherit. */
function mayCount({ match, per }: Limit, record: DecisionRecord): boolean {
  const { authentication, roles = [], resource, action } = record
  if (per === 'subject' && authentication !== 'caller') return false
  if (match.credentials === 'rejected' && authentication !== 'rejected') return false
  const hasRole = match.role === undefined || match.role === 'everyone' || roles.includes(match.role)
  return hasRole && (match.resource ?? resource) === resource && (match.action ?? action) === action
}

/** Grants that nobody needed for this long; the parts of such a line aren't told apart. */
export function unusedFor({ lines, window, coverage }: Usage, milliseconds: number): readonly PartUse[] {
  const isStale = ({ use, last }: Used) => {
    if (use === 'unused') return window.until - window.since >= milliseconds
    const isOld = last !== undefined && window.until - last >= milliseconds
    return use === 'used' && isOld && whyNotCovered(coverage).length === 0
  }
  return lines.flatMap((line) => {
    const found = isStale(line) ? [line] : line.parts.filter(isStale)
    return found.filter(({ part }) => isOfGrant(part))
  })
}
