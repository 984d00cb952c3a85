/** How an answer differs from the policy: a status, a field or a row that the policy doesn't give. */

import { isObject } from '../../../base/is-object.ts'
import { namesText } from '../../../present/quote.ts'
import type { Representation } from '../../../resources/resource.ts'
import type { Answer } from '../predict/predict.ts'
import type { HttpAnswer } from '../target/http.ts'
import type { Attack } from './plan-attacks.ts'

export interface Compared {
  readonly attack: Attack
  readonly predicted: Answer
  readonly answer: HttpAnswer
  /** The victim's objects. */
  readonly victims: readonly Representation[]
}

/** One sentence; undefined if the attacker reached exactly what the policy says. */
export function differenceOf(compared: Compared): string | undefined {
  const { predicted, answer, attack } = compared
  // A server may refuse the query with 400. Its effect is checked only if the server obeys it.
  const refused = attack.vector.endsWith('in query') && answer.status === 400
  if (refused && predicted.status < 400) return undefined
  if (answer.status !== predicted.status) {
    return `the policy says ${predicted.status}, but the server answered ${answer.status}`
  }
  if (attack.routeMethod.method === 'HEAD' || answer.status >= 300) return undefined
  return predicted.items ? rowDifference(compared, predicted.items) : fieldDifference(compared)
}

/** The query asks for objects of the victim alone. */
function rowDifference({ answer, victims }: Compared, items: NonNullable<Answer['items']>): string | undefined {
  const { items: rows = [], next = null } = (answer.json ?? {}) as {
    readonly items?: readonly Representation[]
    readonly next?: string | null
  }
  const ids = new Set(victims.map(({ id }) => id))
  const asked = items.filter(({ object }) => ids.has(object.id))
  const allowed = new Map(asked.map(({ object, shown }) => [object.id, shown]))
  const stray = rows.find((row) => !allowed.has(row.id ?? null) && allowed.size === 0)
  if (stray) return `the list shows \`${String(stray.id)}\`, but the policy lists none of these objects`
  const known = rows.filter((row) => allowed.has(row.id ?? null))
  // Of a list with further pages, only the first was read.
  if (next === null && known.length < asked.filter(({ shown }) => 'id' in shown).length)
    return 'the list lacks objects that the policy lists'
  return known.map((row) => comparedFields(row, allowed.get(row.id ?? null))).find((why) => why !== undefined)
}

function fieldDifference({ answer, predicted, attack, victims }: Compared): string | undefined {
  const { json } = answer
  if (!isObject(json ?? null)) return predicted.shown ? 'the answer shows no object' : undefined
  const shown = json as Representation
  const foreign = attack.vector === 'id in query' && victims.some(({ id }) => id === shown.id)
  if (foreign) return 'the answer shows the object that the query names'
  return comparedFields(shown, predicted.shown)
}

function comparedFields(shown: Representation, predicted: Representation | undefined): string | undefined {
  const more = Object.keys(shown).filter((field) => !Object.hasOwn(predicted ?? {}, field))
  const less = Object.keys(predicted ?? {}).filter((field) => !Object.hasOwn(shown, field))
  if (more.length > 0) return `the answer shows ${namesText(more)}, which the policy does not show`
  return less.length > 0 ? `the answer lacks ${namesText(less)}, which the policy shows` : undefined
}
