/**
 * GET of an object's history (docs/history.md): what each write has left of it, the newest first, cut to the fields that
 * the caller may see of the object as it is now.
 */
import { Problem } from '../../base/problems/problem.ts'
import type { ReadDecision } from '../../decide/decision.ts'
import { USERS } from '../../decide/policy.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import { type ObjectChange, type ObjectChanges, stateAt, type WrittenBy } from '../../store/changes.ts'
import type { HistoryRequest } from '../input/input.ts'
import { WrittenJson } from './entity-tag.ts'
import { RelatedObjects } from './expand.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'

/** A state of the object, and who made it so, as far as that is kept. */
interface WrittenState {
  readonly object: StoredObject
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
  const asked = { object: { resource: request.resource.name, id: decision.object.id }, since: sinceOf(request) }
  const seen = cursor === undefined ? undefined : Number(services.cursors.open(bindingOf(request, decision), cursor))
  // The last one of the page before knows what was before it.
  const from = seen === undefined ? { limit } : { limit: limit + 1, before: seen + 1 }
  const found = await changes.of(asked.object, { since: asked.since, ...from })
  const versions = found.filter(({ number }) => number !== seen).flatMap(versionOf)
  const oldest = found.at(-1)
  const earlier = oldest ? await changes.of(asked.object, { since: asked.since, before: oldest.number, limit: 1 }) : []
  if (earlier.length > 0) return { versions, last: oldest?.number }
  // What the object was before the first change that is kept, or still is.
  const first = oldest ? oldest.before : decision.object
  if (!first) return { versions, last: undefined }
  if (versions.length >= limit) return { versions, last: oldest?.number }
  return { versions: [...versions, { object: first, by: undefined, number: undefined }], last: undefined }
}

function versionOf({ after, by, number }: ObjectChange): readonly FoundVersion[] {
  return after ? [{ object: after, by, number }] : []
}

async function versionAt(
  { changes = NO_CHANGES }: Services,
  request: HandledRequest,
  { object: now }: ReadDecision,
  time: string,
): Promise<FoundVersion> {
  const named = { resource: request.resource.name, id: now.id }
  const since = sinceOf(request)
  const state = time < since ? undefined : await stateAt(changes, named, now, time)
  if (!state) throw new Problem('version-not-found', 'No version of this time is kept; ask for a later time.')
  const { object, next } = state
  const [made] = await changes.of(named, { since, limit: 1, ...(next && { before: next.number }) })
  return { object, by: made?.after?.version === object.version ? made.by : undefined, number: undefined }
}

const NO_CHANGES: Pick<ObjectChanges, 'of' | 'firstAfter'> = { of: async () => [], firstAfter: async () => undefined }

/** Nothing older is shown, even if it isn't deleted yet. */
function sinceOf({ route, at }: HandledRequest): string {
  return new Date(at - (route.history?.keepMs ?? 0)).toISOString()
}

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

function shownVersion({ object, by }: WrittenState, { shown }: ReadDecision, named: ReadonlySet<string>) {
  const fields = Object.entries(represent(object)).filter(([name]) => shown.has(name))
  const isNamed = by?.subject !== undefined && named.has(by.subject)
  return {
    version: object.version,
    at: object.updatedAt,
    ...(isNamed && { by }),
    object: Object.fromEntries(fields),
  }
}

function bindingOf({ route, caller }: HandledRequest, { object }: ReadDecision): string {
  return JSON.stringify([route.path, object.id, caller?.id ?? null])
}
