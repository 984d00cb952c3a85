/** A decision record as a line of text: one line whatever is in a field. */
import type { DecisionRecord } from './decision-record.ts'

/** Where other readers than JSON's end a line (U+0085, U+2028, U+2029), and what a terminal obeys (C1 controls). */
const LOUD = /[\u007f-\u009f\u2028\u2029]/g

/** JSON, without the end of the line. */
export function lineOf(record: DecisionRecord): string {
  return quiet(`{"record":"decision",${JSON.stringify(record).slice(1)}`)
}

const RECORD = /^\{"record":"decision",.*\}$/

/** The record of a write with its number in the outbox; `line` is a line of lineOf, or what a damaged disk made of one. */
export function withSequence(line: string, sequence: number): string {
  if (!RECORD.test(line)) return quiet(`{"damaged":${JSON.stringify(line)},"write":${sequence}}`)
  return `${line.slice(0, -1)},"write":${sequence}}`
}

/** Such a character can only stand inside a string of the JSON, where its escape means the same. */
function quiet(json: string): string {
  return json.replace(LOUD, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
