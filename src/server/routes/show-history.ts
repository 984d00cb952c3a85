/**
 * GET of an object's history (docs/history.md): what each write has left of it, the newest first, cut to the fields that
 * the caller may see of the object as it is now or, if it is gone, as it was last.
 */
import { Problem } from '../../base/problems/problem.ts'
import type { ReadDecision } from '../../decide/decision.ts'
import { USERS } from '../../decide/policy.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import { type ObjectChange, type ReadChanges, stateAt, type WrittenBy } from '../../store/changes.ts'
import type { HistoryRequest } from '../input/input.ts'
import { keptSince } from '../stages/decide-history.ts'
import { WrittenJson } from './entity-tag.ts'
import { RelatedObjects } from './expand.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'

/** A state of the object, and who made it so, as far as that is kept. */
interface WrittenState {
  /** Undefined for a delete. */
  readonly object: StoredObject | undefined
  readonly version: number
  readonly at: string
  readonly by: WrittenBy | undefined
}

/** Throws Problem version-not-found, invalid-query, and what the store throws. */
export async function showHistory(
  services: Services,
  request: HandledRequest,
  decision: ReadDecision,
  query: HistoryRequest,
): Promise<Outcome> {
  const { versions, last } =
    query.at === undefined
      ? await page(services, request, decision, query)
      : { versions: [await versionAt(services, request, decision, query.at)], last: undefined }
  const named = await readableWriters(services, request, versions)
  const { answerBytes } = request.snapshot.limits
  const texts: string[] = []
  let bytes = 0
  for (const version of versions) {
    const text = JSON.stringify(shownVersion(version, decision, named))
    bytes += Buffer.byteLength(text)
    if (texts.length > 0 && bytes > answerBytes) break
    texts.push(text)
  }
  const end = texts.length < versions.length ? versions[texts.length - 1]?.number : last
  const next = end === undefined ? null : services.cursors.seal(bindingOf(request, decision), JSON.stringify(end))
  return {
    status: successStatus('read'),
    headers: {},
    body: new WrittenJson(`{"items":[${texts.join()}],"next":${JSON.stringify(next)}}`),
  }
}

interface FoundVersion extends WrittenState {
  /** Of the change that made it; undefined for the first version, whose change isn't kept. */
  readonly number: number | undefined
}

/** `last`: the number of the last change of the page, if there is more. */
async function page(
  services: Services,
  request: HandledRequest,
  decision: ReadDecision,
  { limit, cursor }: HistoryRequest,
): Promise<{ readonly versions: readonly FoundVersion[]; readonly last: number | undefined }> {
  const { changes = NO_CHANGES } = services
  const [life, since] = [lifeOf(request, decision), keptSince(request.route, request.at)]
  const seen = cursor === undefined ? undefined : Number(services.cursors.open(bindingOf(request, decision), cursor))
  // The last one of the page before knows what was before it.
  const from = seen === undefined ? { limit } : { limit: limit + 1, before: seen + 1 }
  const found = await changes.of(life, { since, ...from })
  const versions = found.filter(({ number }) => number !== seen).flatMap(versionOf)
  const oldest = found.at(-1)
  const earlier = oldest ? await changes.of(life, { since, before: oldest.number, limit: 1 }) : []
  if (earlier.length > 0) return { versions, last: oldest?.number }
  // What the object was before the first change that is kept, or still is.
  const first = oldest ? oldest.before : decision.object
  if (!first) return { versions, last: undefined }
  if (versions.length >= limit) return { versions, last: oldest?.number }
  return { versions: [...versions, { ...stateOf(first), by: undefined, number: undefined }], last: undefined }
}

function versionOf({ before, after, isDelete, at, by, number }: ObjectChange): readonly FoundVersion[] {
  if (after) return [{ ...stateOf(after), by, number }]
  return isDelete && before ? [{ object: undefined, version: before.version + 1, at, by, number }] : []
}

function stateOf(object: StoredObject) {
  return { object, version: object.version, at: object.updatedAt }
}

/** The object that the decision is about: others may have had the id before and since. */
function lifeOf({ resource }: HandledRequest, { object: { id, createdAt } }: ReadDecision) {
  return { resource: resource.name, id, createdAt }
}

async function versionAt(
  { changes = NO_CHANGES }: Services,
  request: HandledRequest,
  decision: ReadDecision,
  time: string,
): Promise<FoundVersion> {
  const life = lifeOf(request, decision)
  const since = keptSince(request.route, request.at)
  const state = time < since ? undefined : await stateAt(changes, life, decision.object, time)
  const bound = { since, limit: 1, ...(state?.next && { before: state.next.number }) }
  const [made] = state ? await changes.of(life, bound) : []
  if (!state || made?.isDelete)
    throw new Problem('version-not-found', 'No version of this time is kept; ask for another time.')
  const { object } = state
  return { ...stateOf(object), by: made?.after?.version === object.version ? made.by : undefined, number: undefined }
}

const NO_CHANGES: ReadChanges = { of: async () => [], firstAfter: async () => undefined }

/** Of one answer: their records are read. */
const MOST_WRITERS = 200

/** Whoever wrote is told to those who may read the writer's own record, and to the writer. */
async function readableWriters(
  services: Services,
  request: HandledRequest,
  versions: readonly WrittenState[],
): Promise<ReadonlySet<string>> {
  const own = request.caller?.id
  const ids = [...new Set(versions.flatMap(({ by }) => by?.subject ?? []))]
  const users = request.resources.byName.get(USERS)
  const others = ids.filter((id) => id !== own).slice(0, MOST_WRITERS)
  const readable = users ? await new RelatedObjects(services, request).readable(users, others) : []
  return new Set([...readable, ...(own === undefined ? [] : [own])])
}

function shownVersion({ object, version, at, by }: WrittenState, { shown }: ReadDecision, named: ReadonlySet<string>) {
  const fields = object && Object.entries(represent(object)).filter(([name]) => shown.has(name))
  const isNamed = by?.subject !== undefined && named.has(by.subject)
  return {
    version,
    at,
    ...(isNamed && { by }),
    object: fields ? Object.fromEntries(fields) : null,
  }
}

function bindingOf({ route, caller }: HandledRequest, { object }: ReadDecision): string {
  return JSON.stringify([route.path, object.id, object.createdAt, caller?.id ?? null])
}
