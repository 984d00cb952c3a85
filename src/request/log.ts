/** The log: one JSON object a line, whatever is in a field. */
import { type DestinationStream, type Logger, pino } from 'pino'

/** Where other readers than JSON's end a line (U+0085, U+2028, U+2029), and what a terminal obeys (C1 controls). */
const LOUD = /[\u007f-\u009f\u2028\u2029]/g

/** `level` is the least that is written. */
export function createLog(level: string, stream: DestinationStream): Logger {
  return pino({ level, hooks: { streamWrite: (line) => line.replace(LOUD, escaped) } }, stream)
}

/** In a line of JSON such a character can only stand inside a string, where its escape means the same. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
