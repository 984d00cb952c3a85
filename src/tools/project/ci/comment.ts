/** One comment of a pull request, which each run replaces: https://docs.github.com/rest/issues/comments */
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../../../base/is-object.ts'

export interface CommentPlace {
  /** As GITHUB_API_URL has it. */
  readonly api: string
  /** `owner/name`. */
  readonly repository: string
  readonly pullRequest: number
  readonly token: string
}

export type Commented =
  | { readonly kind: 'created' | 'updated' | 'unchanged' | 'not-needed' }
  | { readonly kind: 'refused'; readonly why: string }

const ATTEMPTS = 4
const PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
const REQUEST_MS = 15_000
const PAGE = 100
const MOST_PAGES = 50

/** Whose comments count: with the marker alone, anybody could have a comment of theirs edited in the name of the check. */
const TRUSTED: ReadonlySet<unknown> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR'])

/**
 * `marker`: the first line of the comment. With `isNews` false, only a comment that is there is replaced. Never
 * rejects: a comment is only a copy of the report.
 */
export async function putComment(
  place: CommentPlace,
  { marker, body, isNews }: { readonly marker: string; readonly body: string; readonly isNews: boolean },
): Promise<Commented> {
  const text = `${marker}\n${body}`
  for (let attempt = 1; ; attempt++) {
    try {
      const found = await findComment(place, marker)
      if (!found) return isNews ? await write(place, 'created', text) : { kind: 'not-needed' }
      return found.body === text ? { kind: 'unchanged' } : await write(place, 'updated', text, found.id)
    } catch (error) {
      // The next attempt looks for the comment again: an answer that was lost may have been one that made it.
      if (!(error instanceof RefusedByGitHub) || attempt === ATTEMPTS || !error.isPassing) return refusal(error)
      await sleep(Math.min(error.pauseMs ?? PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS))
    }
  }
}

interface Comment {
  readonly id: number
  readonly body: string
}

async function findComment(place: CommentPlace, marker: string): Promise<Comment | undefined> {
  for (let page = 1; page <= MOST_PAGES; page++) {
    const listed = await askGitHub(place, 'GET', `issues/${place.pullRequest}/comments?per_page=${PAGE}&page=${page}`)
    const comments = Array.isArray(listed) ? listed : []
    const own = comments.find((one) => isOwn(one, marker))
    if (own) return { id: Number(own.id), body: String(own.body) }
    if (comments.length < PAGE) return undefined
  }
  return undefined
}

function isOwn(comment: unknown, marker: string): boolean {
  if (!isObject(comment) || typeof comment.body !== 'string' || !comment.body.startsWith(`${marker}\n`)) return false
  const isByProgram = isObject(comment.user) && comment.user.type === 'Bot'
  return isByProgram || TRUSTED.has(comment.author_association)
}

async function write(place: CommentPlace, kind: 'created' | 'updated', body: string, id?: number): Promise<Commented> {
  if (id === undefined) await askGitHub(place, 'POST', `issues/${place.pullRequest}/comments`, { body })
  else await askGitHub(place, 'PATCH', `issues/comments/${id}`, { body })
  return { kind }
}

/** GitHub answered with an error, or not at all. */
class RefusedByGitHub extends Error {
  /** Whether the same request may be answered later. */
  readonly isPassing: boolean
  readonly pauseMs: number | undefined

  constructor(message: string, isPassing: boolean, pauseMs?: number) {
    super(message)
    this.isPassing = isPassing
    this.pauseMs = pauseMs
  }
}

/** The answer of its REST API. Throws RefusedByGitHub. */
export async function askGitHub(place: CommentPlace, method: string, path: string, body?: unknown): Promise<unknown> {
  const { api, repository, token } = place
  const headers = {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'user-agent': 'sallyport',
    'x-github-api-version': '2022-11-28',
  }
  const answer = await fetch(`${api}/repos/${repository}/${path}`, {
    method,
    headers,
    signal: AbortSignal.timeout(REQUEST_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: Error) => {
    throw new RefusedByGitHub(`GitHub can't be reached (${error.message})`, true)
  })
  if (answer.ok) return answer.json()
  await answer.body?.cancel()
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  const pauseMs = Number.isFinite(seconds) ? seconds * 1000 : undefined
  const isPassing = answer.status >= 500 || answer.status === 429 || (answer.status === 403 && pauseMs !== undefined)
  throw new RefusedByGitHub(`GitHub answered ${answer.status}`, isPassing, pauseMs)
}

function refusal(error: unknown): Commented {
  const why = error instanceof Error ? error.message : String(error)
  return { kind: 'refused', why }
}
