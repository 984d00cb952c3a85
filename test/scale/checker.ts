/** Judges a scale test by what clients were answered, what the database has in the end, and the decision records. */
import { type DecisionRecord, parseRecord } from '../../src/decision-log/decision-record.ts'
import { isDone, isWrite, type Operation } from './ask.ts'
import type { Published, Removal } from './history.ts'
import { staleWrites } from './stale.ts'
import { taskOf, WRITERS } from './world.ts'

export interface Evidence {
  readonly operations: readonly Operation[]
  readonly removals: readonly Removal[]
  /** By id, the title of each task in the end. */
  readonly tasks: ReadonlyMap<string, string>
  /** Of the logs of all instances, and of the outbox; some may stand in two logs. */
  readonly records: readonly DecisionRecord[]
  /** The same records by log, without the outbox. */
  readonly logs: readonly (readonly DecisionRecord[])[]
  readonly published: readonly Published[]
  /** By revision, the number of the version in the database. */
  readonly versions: ReadonlyMap<string, number>
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
  /** Writes that one log has twice, or that two logs tell of different requests. */
  readonly repeated: readonly string[]
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
    repeated: repeatedRecords(evidence),
    wrong: wrongDecisions(evidence),
    stale: staleWrites(evidence),
    overAdmitted: overAdmissions(evidence),
  }
}

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

/** An instance that is killed may leave a record in its log that another one moves too, with the same number. */
function repeatedRecords({ logs }: Evidence): readonly string[] {
  const twice = logs.flatMap((log) => [...byWrite(log)].filter(([, same]) => same.length > 1))
  const unlike = [...byWrite(logs.flat())].filter(([, same]) => new Set(same.map((one) => one.requestId)).size > 1)
  return [...new Set([...twice, ...unlike].map(([write]) => `write ${write}`))]
}

function byWrite(records: readonly DecisionRecord[]): ReadonlyMap<number | undefined, readonly DecisionRecord[]> {
  return Map.groupBy(
    records.filter(({ write }) => write !== undefined),
    ({ write }) => write,
  )
}

function committedTitles(records: readonly DecisionRecord[]): ReadonlySet<string> {
  const writes = records.filter(({ resource, write }) => resource === 'tasks' && write !== undefined)
  return new Set(writes.map(({ facts }) => String(facts?.proposed?.title)))
}

/** An open policy lets the prober read and change the plan, and a closed one doesn't. */
function wrongDecisions({ operations, records, published }: Evidence): readonly string[] {
  const kinds = new Map(published.map(({ revision, kind }) => [revision, kind]))
  const decided = operations.filter(
    ({ kind, status }) => kind === 'probe' && (status < 300 || status === 403) && status > 0,
  )
  const answers = decided.filter((one) => isDone(one) !== (kinds.get(one.revision ?? '') === 'open'))
  const writes = records.filter(({ resource, write }) => resource === 'plans' && write !== undefined)
  return [
    ...answers.map(({ revision, status }) => `${status} under ${revision}`),
    ...writes.filter(({ revision }) => kinds.get(revision) !== 'open').map(({ revision }) => `write under ${revision}`),
  ]
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
