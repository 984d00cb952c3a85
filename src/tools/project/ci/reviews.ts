/** Who has approved a pull request as it stands: https://docs.github.com/rest/pulls/reviews */
import { isObject } from '../../../base/is-object.ts'
import { askGitHub, type CommentPlace } from './comment.ts'

interface ReviewedPull {
  /** The logins, in lower case. */
  readonly author: string
  readonly approved: readonly string[]
}

/** The end of a sentence. */
export type Approvers = ReviewedPull | { readonly unknown: string }

const PAGE = 100
const MOST_PAGES = 20

/** A remark takes back no approval; a later commit does. */
const DECIDING = ['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED']

/** `head`: the commit that is reviewed. Never rejects. */
export async function readReviews(
  place: CommentPlace,
  { author, head }: { readonly author: string; readonly head: string },
): Promise<Approvers> {
  const last: LastReviews = new Map()
  try {
    for (let page = 1; page <= MOST_PAGES; page++) {
      const path = `pulls/${place.pullRequest}/reviews?per_page=${PAGE}&page=${page}`
      const listed = await askGitHub(place, 'GET', path)
      const reviews = Array.isArray(listed) ? listed : []
      // In the order of their time.
      for (const one of reviews) keep(last, one, head)
      if (reviews.length < PAGE) return { author: author.toLowerCase(), approved: approvedIn(last) }
    }
    return { unknown: `the pull request has more than ${PAGE * MOST_PAGES} reviews` }
  } catch (error) {
    return { unknown: (error as Error).message }
  }
}

/** By login: whether the last review that decides is an approval of the commit. */
type LastReviews = Map<string, boolean>

function keep(last: LastReviews, review: unknown, head: string): void {
  if (!isObject(review) || !isObject(review.user) || !DECIDING.includes(String(review.state))) return
  last.set(String(review.user.login).toLowerCase(), review.state === 'APPROVED' && review.commit_id === head)
}

function approvedIn(last: LastReviews): readonly string[] {
  return [...last].flatMap(([login, isApproval]) => (isApproval ? [login] : []))
}
