/**
 * POST /access/v1/search/subject, /resource and /action: of the candidates, those that an evaluation allows. The work
 * for a page is bounded: a page may have fewer results than its limit, and its token goes on after the last candidate.
 */
import type { SearchRecord } from '../../../decision-log/decision-record.ts'
import type { HandledRequest, Outcome, Services } from '../../routes/handler.ts'
import { evaluate } from '../ask.ts'
import { type Asker, askerOf } from '../asker.ts'
import type { Members } from '../entities.ts'
import { answerInSlices } from '../in-slices.ts'
import type { Candidate, Candidates } from './candidates.ts'
import { actionsFor } from './search-actions.ts'
import { pagesOf, type SearchPage } from './search-pages.ts'
import { readSearch, type Search } from './search-request.ts'
import { objectsFor } from './search-resources.ts'
import { subjectsFor } from './search-subjects.ts'

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
  const makeAsker = () => askerOf(services.access, request)
  const asker = makeAsker()
  const { results, next, decided } = await asker.atLength(async () => {
    return findPage(await candidatesOf(asker, services, search), pages.current, makeAsker)
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

function candidatesOf(asker: Asker, { store }: Services, search: Search): Candidates | Promise<Candidates> {
  switch (search.for) {
    case 'subject':
      return subjectsFor(asker, store, search)
    case 'resource':
      return objectsFor(asker, store, search)
    case 'action':
      return actionsFor(asker, search)
  }
}

interface FoundPage {
  readonly results: readonly Candidate[]
  /** How many candidates were decided. */
  readonly decided: number
  /** Where the next page begins; undefined if no result is left. */
  readonly next?: { readonly after: string | undefined }
}

/** Looks for one more result than the page has, so that the last page has no token. */
async function findPage(
  candidates: Candidates,
  { limit, after: first }: SearchPage,
  makeAsker: () => Asker,
): Promise<FoundPage> {
  const results: Candidate[] = []
  let after = first
  let decided = 0
  while (decided < MOST_CANDIDATES) {
    const some = await candidates(after, AT_A_TIME)
    const allowed = await allowedOf(makeAsker(), some)
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

async function allowedOf(asker: Asker, some: readonly Candidate[]): Promise<readonly boolean[]> {
  const evaluated = await answerInSlices(asker, some, {
    most: AT_A_TIME,
    answer: ({ evaluation }: Candidate) => evaluate(asker, evaluation),
  })
  return evaluated.map(({ decision }) => decision)
}

function recordOf(search: Search, results: readonly Candidate[], candidates: number): SearchRecord {
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
