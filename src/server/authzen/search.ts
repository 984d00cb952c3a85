/**
 * POST /access/v1/search/subject, /resource and /action (AuthZEN 1.0, section 8): of the candidates, those that an
 * evaluation allows. The work for a page is bounded: a page may have fewer results than its limit, and its token goes
 * on after the last candidate.
 */

import { byText } from '../../base/by-text.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Condition } from '../../decide/conditions/condition.ts'
import { isBlocked, passRoleLevel, type Question } from '../../decide/decide.ts'
import type { CallerGrants } from '../../decide/grants/caller-grants.ts'
import { actionNamed } from '../../decide/grants/trust.ts'
import { type Limits, USERS } from '../../decide/policy.ts'
import type { SearchRecord } from '../../decision-log/decision-record.ts'
import { SEARCH_FAULTS } from '../../resources/built-in/search-schemas.ts'
import type { Json } from '../../resources/resource.ts'
import type { ReadBy, Store } from '../../store/contract.ts'
import { canonicalJson } from '../idempotency/idempotency-key.ts'
import type { Cursors } from '../routes/cursor.ts'
import type { HandledRequest, Outcome, Services } from '../routes/handler.ts'
import { evaluate } from './ask.ts'
import { type AskedRoute, actionsAsked, asListing, routeAsked } from './asked-routes.ts'
import {
  type ActionEntity,
  type ContextMembers,
  type Evaluation,
  type Members,
  type ResourceEntity,
  refuseFaultyMembers,
  type SubjectEntity,
} from './entities.ts'
import { type Deciders, decidingAlike, peopleAlike } from './people-alike.ts'
import { answerInSlices, type Pep, pepOf } from './pep.ts'
import { type KnownSubject, knownConditions, subjectOf } from './trust.ts'

/** The most candidates that are decided for a page (docs/authzen.md). */
const MOST_CANDIDATES = 1000

/** How many are decided at a time, with one reading of each fact. */
const AT_A_TIME = 50

/** Throws Problem invalid-body, and quota-exceeded for too many at a time. */
export async function answerSearch(
  services: Services,
  request: HandledRequest,
  kind: Search['for'],
  body: Members,
): Promise<Outcome> {
  const search = readSearch(kind, body)
  const { page: limits } = request.snapshot.limits
  const pages = pagesOf(search, { cursors: services.cursors, service: request.caller?.id, page: limits })
  const makePep = () => pepOf(services.access, request)
  const pep = makePep()
  const { results, next, decided } = await pep.atLength(async () => {
    const alike = search.for === 'subject' ? await peopleAlike(pep, services.store, search) : undefined
    const deciders = alike ? decidingAlike(pep, alike) : { makePep, evaluate }
    return findPage(await candidatesOf(pep, services, search), pages.current, deciders)
  })
  const token = next === undefined ? '' : pages.tokenAfter(next.after)
  return {
    status: 200,
    headers: {},
    body: {
      page: { next_token: token },
      context: { revision: request.policy.revision },
      results: results.map((one) => one.result),
    },
    searched: recordOf(search, results, decided),
  }
}

function candidatesOf(pep: Pep, { store }: Services, search: Search): Candidates | Promise<Candidates> {
  switch (search.for) {
    case 'subject':
      return subjectsFor(pep, store, search)
    case 'resource':
      return objectsFor(pep, store, search)
    case 'action':
      return actionsFor(pep, search)
  }
}

interface FoundPage {
  readonly results: readonly SearchCandidate[]
  /** How many candidates were decided. */
  readonly decided: number
  /** Where the next page begins; undefined if no result is left. */
  readonly next?: { readonly after: string | undefined }
}

/** Looks for one more result than the page has, so that the last page has no token. */
async function findPage(
  candidates: Candidates,
  { limit, after: first }: SearchPage,
  deciders: Deciders,
): Promise<FoundPage> {
  const results: SearchCandidate[] = []
  let after = first
  let decided = 0
  while (decided < MOST_CANDIDATES) {
    const some = await candidates(after, AT_A_TIME)
    const allowed = await allowedOf(deciders, some)
    decided += some.length
    for (const [i, candidate] of some.entries()) {
      if (allowed[i] && results.length === limit) return { results, decided, next: { after } }
      if (allowed[i]) results.push(candidate)
      after = candidate.key
    }
    if (some.length < AT_A_TIME) return { results, decided }
  }
  return { results, decided, next: { after } }
}

async function allowedOf(
  { makePep, evaluate }: Deciders,
  some: readonly SearchCandidate[],
): Promise<readonly boolean[]> {
  const pep = makePep()
  const evaluated = await answerInSlices(pep, some, {
    most: AT_A_TIME,
    answer: ({ evaluation }: SearchCandidate) => evaluate(pep, evaluation),
  })
  return evaluated.map(({ decision }) => decision)
}

function recordOf(search: Search, results: readonly SearchCandidate[], candidates: number): SearchRecord {
  const { subject, resource } = search
  return {
    for: search.for,
    ...(subject.type === 'user' ? {} : { subjectType: subject.type }),
    subject: search.for === 'subject' ? undefined : search.subject.id,
    resource: resource.type,
    objectId: search.for === 'resource' ? undefined : search.resource.id,
    action: search.for === 'action' ? undefined : search.action.name,
    candidates,
    found: results.map(({ key }) => key),
  }
}

/** What is searched for: it has a type, and an id that doesn't count. */
interface Searched {
  readonly type: string
}

interface AskedPage {
  /** Empty and absent: the first page. */
  readonly token?: string
  readonly limit?: number
}

interface SearchOptions {
  readonly context?: ContextMembers
  readonly page?: AskedPage
}

interface SubjectSearch extends SearchOptions {
  readonly subject: Searched
  readonly action: ActionEntity
  readonly resource: ResourceEntity
}

interface ResourceSearch extends SearchOptions {
  readonly subject: SubjectEntity
  readonly action: ActionEntity
  readonly resource: Searched
}

interface ActionSearch extends SearchOptions {
  readonly subject: SubjectEntity
  readonly resource: ResourceEntity
}

type Search =
  | ({ readonly for: 'subject' } & SubjectSearch)
  | ({ readonly for: 'resource' } & ResourceSearch)
  | ({ readonly for: 'action' } & ActionSearch)

/** Throws Problem invalid-body. */
function readSearch(kind: Search['for'], body: Members): Search {
  refuseFaultyMembers(SEARCH_FAULTS[kind](body))
  return { ...(body as unknown as Search), for: kind } as Search
}

interface SearchPage {
  /** The most results. */
  readonly limit: number
  /** The key of the last candidate that earlier pages have decided. */
  readonly after?: string
}

/** A page as a token carries it. */
interface Sealed extends SearchPage {
  /** The limit that the client named, if it named one. */
  readonly named?: number
}

interface SearchPages {
  readonly current: SearchPage
  /** The token of the page after this candidate. */
  tokenAfter(key: string | undefined): string
}

interface SearchContext {
  readonly cursors: Cursors
  /** The id of the PEP. */
  readonly service: string | undefined
  readonly page: Limits['page']
}

/** Throws Problem invalid-body for a token of another search, and for another limit than that of the first page. */
function pagesOf({ page: asked = {}, ...search }: Search, { cursors, service, page }: SearchContext): SearchPages {
  const binding = canonicalJson(['search', service ?? null, search as unknown as Json])
  const { token = '' } = asked
  const sealed: Sealed = token === '' ? firstPage(asked, page) : opened(cursors, binding, token)
  if (token !== '' && asked.limit !== undefined && asked.limit !== sealed.named) {
    throw faulty('/page/limit', 'must be the limit of the first page, or absent')
  }
  // A page without room would be repeated forever.
  const next = { ...sealed, limit: sealed.limit === 0 ? page.default : sealed.limit }
  return {
    current: sealed,
    tokenAfter: (after) => cursors.seal(binding, JSON.stringify({ ...next, after } satisfies { after: unknown })),
  }
}

function firstPage({ limit }: AskedPage, page: Limits['page']): Sealed {
  return limit === undefined ? { limit: page.default } : { limit: Math.min(limit, page.max), named: limit }
}

function opened(cursors: Cursors, binding: string, token: string): Sealed {
  try {
    return JSON.parse(cursors.open(binding, token))
  } catch {
    throw faulty('/page/token', 'must be the next_token of a page of the same search by the same service')
  }
}

function faulty(pointer: string, detail: string): Problem {
  const errors = [{ pointer, detail, code: 'page' }]
  return new Problem('invalid-body', 'The page does not belong to this search; begin again without a token.', {
    errors,
  })
}

async function objectsFor(pep: Pep, store: Pick<Store, 'list'>, search: ResourceSearch): Promise<Candidates> {
  const { subject, action, resource, context } = search
  const evaluationOf = (id: string) => ({
    subject,
    action,
    resource: { type: resource.type, id },
    ...(context && { context }),
  })
  const target = routeAsked(pep.resources, resource.type, actionNamed(pep.trust, resource.type, action.name))
  // A new object isn't stored, so a search can't find it.
  if ('reason' in target || target.resource.external || target.endpoint.operation === 'create') return NO_CANDIDATES
  const found = await subjectOf(pep, subject)
  if ('reason' in found) return NO_CANDIDATES
  const grants = await pep.ask(
    passRoleLevel(listing(pep, { target, subject: found, evaluation: evaluationOf('') }), pep.policy.snapshot),
  )
  if (grants.kind !== 'grants') return NO_CANDIDATES
  const where = candidatesWhere(grants, target, search)
  return async (after, most) => {
    const ids = await idsAfter(store, { resource: resource.type, where, by: pep }, after, most)
    return ids.map((id) => {
      const evaluation = evaluationOf(id)
      return { key: id, evaluation, result: evaluation.resource }
    })
  }
}

/** What a change would make of an object counts only if the question has its body, or names a command. */
function candidatesWhere(grants: CallerGrants, { endpoint, route }: AskedRoute, { action }: ResourceSearch): Condition {
  const { table, asking, conditions, view } = grants
  const changes = endpoint.operation === 'update' || endpoint.operation === 'replace'
  if (changes && (action.properties?.body || route.command)) return table.whereStored(asking, conditions.holding)
  return table.where(asking, conditions.holding, view)
}

interface AskedSearch {
  readonly target: AskedRoute
  readonly subject: KnownSubject
  readonly evaluation: Evaluation
}

/**
 * The question that a list by this action would be. An evaluation is true only if it is true whichever way the unknown
 * conditions are, so it is also true where none of them holds.
 */
function listing(pep: Pep, { target, subject, evaluation }: AskedSearch): Question {
  const { policy, now } = pep
  const { caller } = subject
  const known = knownConditions(pep, evaluation, subject)
  return {
    ...asListing(target),
    subject: policy.snapshot.subjectOf(caller),
    blocked: isBlocked(policy.blocked, caller.id, now),
    now,
    holding: (condition) => known(condition) ?? false,
  }
}

function subjectsFor(pep: Pep, store: Pick<Store, 'list'>, search: SubjectSearch): Candidates {
  const { resources, trust } = pep
  const { subject, page: _, ...rest } = search
  // Only the directory can be walked through: other subjects are known by what a service says of them.
  const isOfDirectory = trust.subjects.get(subject.type)?.kind === 'directory'
  if (!isOfDirectory || !resources.byName.has(USERS)) return NO_CANDIDATES
  return async (after, most) => {
    const ids = await idsAfter(store, { resource: USERS, where: { kind: 'always' }, by: pep }, after, most)
    return ids.map((id) => {
      const result = { type: subject.type, id }
      return { key: id, evaluation: { ...rest, subject: result }, result }
    })
  }
}

function actionsFor(pep: Pep, search: ActionSearch): Candidates {
  const { subject, resource, context } = search
  const names = actionNames(pep, resource.type).map((name) => ({
    key: name,
    evaluation: { subject, resource, action: { name }, ...(context && { context }) },
    result: { name },
  }))
  return async (after, most) => names.filter(({ key }) => after === undefined || byText(key, after) > 0).slice(0, most)
}

/**
 * Each action by the names that the service has for it in callers.yaml, or else by its own. A new object is no object
 * that is searched about, so creating it is left out.
 */
function actionNames({ resources, trust }: Pep, type: string): readonly string[] {
  const aliases = new Set(['*', type].flatMap((resource) => [...(trust.aliases.get(resource)?.keys() ?? [])]))
  const namesOf = (action: string) => {
    const own = [...aliases].filter((alias) => actionNamed(trust, type, alias) === action)
    if (own.length > 0) return own
    return actionNamed(trust, type, action) === action ? [action] : []
  }
  const onObjects = actionsAsked(resources, type).filter(
    ({ endpoint: { operation, action } }) => operation !== 'create' && action !== 'create',
  )
  return onObjects.flatMap(({ endpoint }) => namesOf(endpoint.action)).toSorted(byText)
}

interface SearchCandidate {
  /** Its place in the order: a later page begins after it. */
  readonly key: string
  readonly evaluation: Evaluation
  /** As an answer has it. */
  readonly result: Json
}

/** The next candidates after this place, at most `most`; fewer if there are no more. */
type Candidates = (after: string | undefined, most: number) => Promise<readonly SearchCandidate[]>

const NO_CANDIDATES: Candidates = async () => []

async function idsAfter(
  store: Pick<Store, 'list'>,
  { resource, where, by }: { readonly resource: string; readonly where: Condition; readonly by: ReadBy },
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  const found = await store.list(resource, { where, limit, ...(after === undefined ? {} : { after: [after] }) }, by)
  return found.map(({ id }) => id)
}
