/**
 * Finds writes under a right whose removal was acknowledged before they were sent: by what clients were told, and by
 * the order of the commits, which also shows the writes that got no answer.
 */
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { isByOlderPolicy, isDone, isWrite, type Operation } from './ask.ts'
import type { Evidence } from './checker.ts'
import { membershipOf, WRITERS, withoutRole } from './world.ts'

export function staleWrites(evidence: Evidence): readonly string[] {
  return [...byTheClients(evidence), ...byTheAnswers(evidence), ...byTheCommits(evidence)]
}

/** Nobody writes between the acknowledgement of a removal and the request that gives the right back. */
function byTheClients({ operations, removals, records }: Evidence): readonly string[] {
  const committed = new Set(commitsIn(records).map(titleOf))
  const byTitle = Map.groupBy(operations.filter(isWrite), ({ title }) => title)
  return [...byTitle.values()].flatMap((repeats) => {
    const [{ client, title = '', sentAt }] = repeats as [Operation]
    const endedAt = Math.max(...repeats.map((one) => one.endedAt))
    const removed = removals.filter(({ user, acknowledgedAt }) => user === client && acknowledgedAt < sentAt)
    const without = removed.find(({ givenBackAt }) => endedAt < givenBackAt)
    return without && (committed.has(title) || repeats.some(isDone)) ? [`${title}: no ${without.right}`] : []
  })
}

/** A request that names the version it needs isn't answered by an older one. */
function byTheAnswers({ operations }: Evidence): readonly string[] {
  const older = operations.filter(isByOlderPolicy)
  return older.map(({ sequence, atLeast }) => `answered by version ${sequence} instead of ${atLeast}`)
}

/** Plays the commits back in their order, and asks for each write whether its right was there. */
function byTheCommits(evidence: Evidence): readonly string[] {
  const playback = new Playback(evidence)
  return commitsIn(evidence.records).flatMap((record) => {
    const right = playback.play(record)
    return right === undefined ? [] : [`write ${record.write}: no ${right}`]
  })
}

class Playback {
  readonly #members = new Map(WRITERS.map((writer) => [membershipOf(writer), writer]))
  /** By user without the role: when the removal was acknowledged. */
  readonly #withoutRole = new Map<string, number>()
  readonly #acknowledged: ReadonlyMap<string | undefined, number>
  /** By title, when the first request for it was sent, and the version that it asked for. */
  readonly #asked: ReadonlyMap<string | undefined, Operation>
  readonly #versions: Evidence['versions']

  constructor({ operations, removals, versions }: Evidence) {
    this.#acknowledged = new Map(removals.map(({ title, acknowledgedAt }) => [title, acknowledgedAt]))
    this.#asked = new Map(operations.toReversed().map((one) => [one.title, one]))
    this.#versions = versions
  }

  /** The right that the write lacked. */
  play(record: DecisionRecord): string | undefined {
    const { resource, action, objectId = '', subject = '', facts } = record
    if (resource === 'memberships' && action === 'delete') this.#members.delete(objectId)
    else if (resource === 'memberships') this.#members.set(objectId, String(facts?.proposed?.userId))
    else if (resource === 'users') this.#playRole(objectId, titleOf(record))
    else if (resource === 'plans') return this.#isByOlderPolicy(record) ? 'such version any more' : undefined
    else if (![...this.#members.values()].includes(subject)) return 'membership'
    else if (this.#isWithoutRole(record)) return 'role'
    return undefined
  }

  #playRole(user: string, title: string): void {
    if (!title.startsWith(withoutRole(user))) this.#withoutRole.delete(user)
    else this.#withoutRole.set(user, this.#acknowledged.get(title) ?? Number.POSITIVE_INFINITY)
  }

  /** Of writes that were sent before the acknowledgement nothing is promised. */
  #isWithoutRole(record: DecisionRecord): boolean {
    const acknowledgedAt = this.#withoutRole.get(record.subject ?? '')
    const sentAt = this.#asked.get(titleOf(record))?.sentAt ?? Number.NEGATIVE_INFINITY
    return acknowledgedAt !== undefined && acknowledgedAt < sentAt
  }

  #isByOlderPolicy(record: DecisionRecord): boolean {
    const { atLeast = 0 } = this.#asked.get(titleOf(record)) ?? {}
    return (this.#versions.get(record.revision) ?? 0) < atLeast
  }
}

/** Records of writes in the order of their commits; each once. */
function commitsIn(records: readonly DecisionRecord[]): readonly DecisionRecord[] {
  const byNumber = new Map(records.map((record) => [record.write, record]))
  byNumber.delete(undefined)
  return [...byNumber.values()].toSorted((a, b) => (a.write ?? 0) - (b.write ?? 0))
}

/** Users are changed under a new name each time, and tasks and plans under a new title. */
function titleOf({ facts }: DecisionRecord): string {
  return String(facts?.proposed?.displayName ?? facts?.proposed?.title)
}
