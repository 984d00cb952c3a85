/** /policy/v1/…: answers questions about the policy in force to callers that it lets ask (docs/policy-api.md). */
import { Problem } from '../../base/problems/problem.ts'
import { POLICY_PATH } from '../../resources/built-in/policy-questions.ts'
import type { Input } from '../input/input.ts'
import { WrittenJson } from '../routes/entity-tag.ts'
import type { HandledRequest, Outcome, Services } from '../routes/handler.ts'

/** Questions about what only a database keeps. */
const OF_PUBLISHED: ReadonlySet<string> = new Set([
  'instances',
  'proposals',
  'review',
  'compare',
  'version',
  'propose',
  'approve',
  'reject',
  'withdraw',
  'publish',
  'grants',
  'approve-grant',
  'revoke-grant',
  'break-glass',
  'review-glass',
])

/** Throws Problem invalid-body, and what the answering throws. */
export async function answerQuestion(
  { questions }: Services,
  { route, caller, gone, address }: HandledRequest,
  input: Input,
): Promise<Outcome> {
  if (!questions) throw new Error('nobody answers questions about the policy here')
  const name = route.path.slice(POLICY_PATH.length)
  const asked = input.kind === 'body' ? input.body : {}
  const errors = input.kind === 'body' ? (route.exchange?.faults?.(asked) ?? []) : []
  if (errors.length > 0) {
    throw new Problem('invalid-body', 'The body does not fit the schema; correct the fields in `errors`.', { errors })
  }
  if (OF_PUBLISHED.has(name) && !questions.isPublished) {
    const detail = 'The policy of this server is a folder; versions in a database have instances and proposals.'
    throw new Problem('question-refused', detail)
  }
  if (route.exchange?.streams) {
    const events = questions.follow(asked, caller?.id ?? address, gone())
    return { status: 200, headers: { 'Cache-Control': 'no-store' }, body: undefined, events }
  }
  const text = await questions.answer(name, asked, caller?.id ?? address, gone())
  return { status: 200, headers: { 'Cache-Control': 'no-store' }, body: new WrittenJson(text) }
}
