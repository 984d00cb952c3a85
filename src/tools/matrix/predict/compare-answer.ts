/** What a matrix can say of an answer: whether it is the expected one, and which words fit it exactly. */
import type { Representation } from '../../../resources/resource.ts'
import type { Expected } from '../read/expectation.ts'
import { type Answer, relate, type Situation } from './situation.ts'

/** An answer and what it was given to; without a situation where no handler is reached. */
export interface Given {
  readonly answer: Answer
  readonly situation: Situation | undefined
}

export function answers(given: Given, { status, view, list }: Expected): boolean {
  if (given.answer.status !== status) return false
  // An answer to HEAD has no body to look at.
  if (!given.situation || given.situation.spot.method === 'HEAD') return true
  if (list !== undefined && !lists(given, list)) return false
  return view === undefined || showsView(given, view)
}

/**
 * In the words of a matrix: all that fit exactly, the first the one to write. A list of all objects can't become longer,
 * so there the fields are worth more.
 */
export function describe(given: Given): readonly Expected[] {
  const { answer, situation } = given
  const { status } = answer
  if (!situation || situation.spot.method === 'HEAD' || !isShowing(situation)) return [{ status }]
  const { grants, spot } = situation
  const [own, all] = (['own', 'all'] as const).map((list) => (lists(given, list) ? [{ status, list }] : []))
  const names = [...(grants.policy.views.get(spot.resource.name)?.keys() ?? [])].sort()
  const views = names.filter((view) => showsView(given, view)).map((view) => ({ status, view }))
  return [...(own ?? []), ...views.slice(0, 1), ...(all ?? []), { status }]
}

function isShowing({ spot }: Situation): boolean {
  return spot.endpoint.operation === 'read' || spot.endpoint.operation === 'list'
}

/** Exactly the caller's own objects, or all; of none nothing is said, as a run can't tell either. */
function lists({ answer, situation }: Given, list: 'own' | 'all'): boolean {
  if (!answer.items || !situation) return false
  const stored = [...(situation.objects.get(situation.spot.resource.name)?.values() ?? [])]
  // A row without its id could be that of any object.
  if (answer.items.some(({ shown }) => !Object.hasOwn(shown, 'id'))) return false
  const wanted = list === 'all' ? stored : stored.filter((object) => relate(situation, object).includes('owner'))
  const listed = new Set(answer.items.map(({ object }) => object.id))
  return wanted.length > 0 && wanted.length === listed.size && wanted.every(({ id }) => listed.has(id))
}

/** Of each object exactly the view's fields, as far as it has them. */
function showsView({ answer, situation }: Given, view: string): boolean {
  if (!situation) return false
  const fields = situation.grants.policy.views.get(situation.spot.resource.name)?.get(view)
  const rows = answer.items ?? (answer.shown ? [{ shown: answer.shown, object: answer.of ?? answer.shown }] : [])
  return fields !== undefined && rows.length > 0 && rows.every(({ shown, object }) => hasExactly(shown, object, fields))
}

function hasExactly(shown: Representation, object: Representation, fields: ReadonlySet<string>): boolean {
  return Object.keys(object).every((field) => Object.hasOwn(shown, field) === fields.has(field))
}
