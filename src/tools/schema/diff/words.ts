/** Places and values in the sentences of a schema diff. */
import { pointerOfPath } from '../../../base/json-pointer.ts'
import { listed, type Phrase, say } from '../../../present/phrase.ts'
import type { Json } from '../../../resources/resource.ts'

/** A JSON Pointer from an object, or the object itself. */
export function placeText(path: readonly string[]): Phrase {
  return path.length === 0 ? say`object` : say`${pointerOfPath(path)}`
}

const MOST_VALUES = 5
const MOST_CHARACTERS = 60

/** `"a", "b" or "c"`. */
export function valuesText(values: readonly Json[]): Phrase {
  const shown = values.slice(0, MOST_VALUES).map(valueText)
  const more = values.length - shown.length
  return listed([...shown, ...(more > 0 ? [say`${more} others`] : [])], say` or `)
}

/** As JSON, a text without quotes unless it looks like another value; a long value by its size. */
function valueText(value: Json): Phrase {
  const isWord = typeof value === 'string' && /^\p{L}/u.test(value) && !/^(?:true|false|null)$/.test(value)
  const json = isWord ? value : JSON.stringify(value)
  if (json.length <= MOST_CHARACTERS) return say`${json}`
  if (typeof value === 'string') return say`a text of ${[...value].length} characters`
  return Array.isArray(value) ? say`a list of ${value.length} items` : say`such an object`
}
