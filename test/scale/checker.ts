/** Judges a scale test by what clients were answered, what the database has in the end, and the decision records. */
import { type DecisionRecord, parseRecord } from '../../src/decision-log/decision-record.ts'
import type { Operation, Removal } from './history.ts'
import { membershipOf, taskOf, WRITERS } from './world.ts'

export interface Evidence {
  readonly operations: readonly Operation[]
  readonly removals: readonly Removal[]
  /** By id, the title of each task in the end. */
  readonly tasks: ReadonlyMap<string, string>
  /** Of the logs of all instances, and of the outbox; some may stand in two logs. */
  readonly records: readonly DecisionRecord[]
  /** The revision that lets the prober read and change the plan. */
  readonly openRevision: string
  readonly limit: { readonly allow: number; readonly windowMs: number }
  /** When an instance counted by itself, because Redis didn't answer it. */
  readonly redisLost: readonly Span[]
}

export interface Span {
  readonly from: number
  readonly to: number
}

export interface Verdict {
  readonly writes: number
  /** Acknowledged writes that the database doesn't have. */
  readonly lost: readonly string[]
  /** Titles of which a repeated create made several objects. */
  readonly doubled: readonly string[]
  /** Writes without a decision record. */
  readonly unrecorded: readonly string[]
  /** Answers that the policy that they name doesn't give. */
  readonly wrong: readonly string[]
  /** Writes under a membership, role or policy whose removal was acknowledged before they were sent. */
  readonly stale: readonly string[]
  /** Windows with more admitted requests than the limit. */
  readonly overAdmitted: readonly string[]
}

export function judge(evidence: Evidence): Verdict {
  return {
    writes: evidence.operations.filter((one) => isWrite(one) && isDone(one)).length,
    lost: lostWrites(evidence),
    doubled: doubledCreates(evidence),
    unrecorded: unrecordedWrites(evidence),
    wrong: wrongDecisions(evidence),
    stale: [...staleByTheClients(evidence), ...staleByThePolicy(evidence), ...staleByTheCommits(evidence)],
    overAdmitted: overAdmissions(evidence),
  }
}

const isWrite = ({ kind }: Operation) => kind === 'create' || kind === 'update'
const isDone = ({ status }: Operation) => status >= 200 && status < 300
const numberIn = (title: string) => Number(/ (\d+)/.exec(title)?.[1] ?? 0)

export function recordsIn(lines: readonly string[]): readonly DecisionRecord[] {
  return lines.map(parseRecord).filter((record) => record !== undefined)
}

/** Each writer alone changes its task, to titles that count up. */
function lostWrites({ operations, tasks }: Evidence): readonly string[] {
  const creates = operations.filter(
    (one) => one.kind === 'create' && isDone(one) && tasks.get(one.id ?? '') !== one.title,
  )
  const updates = WRITERS.flatMap((writer) => {
    const done = operations.filter((one) => one.kind === 'update' && one.client === writer && isDone(one))
    const last = done.at(-1)?.title ?? ''
    return numberIn(tasks.get(taskOf(writer)) ?? '') < numberIn(last) ? [last] : []
  })
  return [...creates.map(({ title = '' }) => title), ...updates]
}

function doubledCreates({ tasks }: Evidence): readonly string[] {
  const byTitle = Map.groupBy(
    [...tasks].filter(([id]) => !id.startsWith('task-')),
    ([, title]) => title,
  )
  return [...byTitle].filter(([, same]) => same.length > 1).map(([title]) => title)
}

function unrecordedWrites({ operations, tasks, records }: Evidence): readonly string[] {
  const created = new Set(records.filter(({ action }) => action === 'create').map(({ objectId }) => objectId))
  const titles = committedTitles(records)
  const objects = [...tasks].filter(([id]) => !id.startsWith('task-') && !created.has(id)).map(([id]) => id)
  const writes = operations.filter((one) => isWrite(one) && isDone(one) && !titles.has(one.title ?? ''))
  return [...objects, ...writes.map(({ title = '' }) => title)]
}

function committedTitles(records: readonly DecisionRecord[]): ReadonlySet<string> {
  const writes = records.filter(({ resource, write }) => resource === 'tasks' && write !== undefined)
  return new Set(writes.map(({ facts }) => String(facts?.proposed?.title)))
}

function wrongDecisions({ operations, openRevision }: Evidence): readonly string[] {
  const decided = operations.filter(
    ({ kind, status }) => kind === 'probe' && (status < 300 || status === 403) && status > 0,
  )
  return decided
    .filter((one) => isDone(one) !== (one.revision === openRevision))
    .map(({ revision, status }) => `${status} under ${revision}`)
}

function staleByTheClients({ operations, removals, records }: Evidence): readonly string[] {
  const committed = committedTitles(records)
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
function staleByThePolicy({ operations }: Evidence): readonly string[] {
  const older = operations.filter((one) => isDone(one) && one.sequence < one.atLeast)
  return older.map(({ sequence, atLeast }) => `answered by version ${sequence} instead of ${atLeast}`)
}

/** Plays the commits back in their order: nobody writes who is no member then. */
function staleByTheCommits({ records }: Evidence): readonly string[] {
  const members = new Map(WRITERS.map((writer) => [membershipOf(writer), writer]))
  const stale: string[] = []
  const byNumber = new Map(records.map((record) => [record.write, record]))
  byNumber.delete(undefined)
  for (const [, record] of [...byNumber].toSorted(([a = 0], [b = 0]) => a - b)) {
    const { resource, action, objectId = '', subject = '', facts } = record
    if (resource === 'memberships' && action === 'delete') members.delete(objectId)
    else if (resource === 'memberships') members.set(objectId, String(facts?.proposed?.userId))
    else if (resource === 'tasks' && ![...members.values()].includes(subject))
      stale.push(`write ${record.write}: no membership`)
  }
  return stale
}

/** Only windows count that certainly hold all requests, from the first one sent to the last one answered. */
function overAdmissions({ operations, limit: { allow, windowMs }, redisLost }: Evidence): readonly string[] {
  const admitted = operations
    .filter(({ kind, status }) => kind === 'flood' && status > 0 && status < 500 && status !== 429)
    .toSorted((a, b) => a.sentAt - b.sentAt)
  return admitted.flatMap((first, i) => {
    const group = admitted.slice(i, i + allow + 1)
    const end = Math.max(...group.map(({ endedAt }) => endedAt))
    const isOver = group.length > allow && end - first.sentAt < windowMs
    const alone = redisLost.some(({ from, to }) => first.sentAt < to + windowMs && end > from - windowMs)
    return isOver && !alone ? [`${group.length} requests in ${Math.round(end - first.sentAt)} ms`] : []
  })
}

/** The longest time in milliseconds in which a client was only refused; waiting for a policy version doesn't count. */
export function longestRefusal(operations: readonly Operation[]): number {
  const byClient = Map.groupBy(
    operations.filter(({ kind }) => kind !== 'flood'),
    ({ client }) => client,
  )
  return Math.max(0, ...[...byClient.values()].map(longestOfOne))
}

function longestOfOne(operations: readonly Operation[]): number {
  let longest = 0
  let since: number | undefined
  for (const { status, code, sentAt, endedAt } of operations) {
    const refused = status === 0 || status === 409 || (status >= 500 && code !== 'policy-behind')
    if (refused) since ??= sentAt
    if (since !== undefined) longest = Math.max(longest, endedAt - since)
    if (!refused) since = undefined
  }
  return longest
}

/** The longest time in milliseconds in which the prober waited for a version that was acknowledged. */
export function longestLag(operations: readonly Operation[]): number {
  return longestOfOne(
    operations
      .filter(({ kind, status }) => kind === 'probe' && status > 0)
      .map((one) => (one.code === 'policy-behind' ? { ...one, code: undefined } : { ...one, status: 200 })),
  )
}
