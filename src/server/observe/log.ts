/** The log: one JSON object for each line, whatever a field contains; sentences on a terminal. */
import { isatty } from 'node:tty'
import { type DestinationStream, type Logger, pino } from 'pino'
import { WholeLines } from '../../decision-log/whole-lines.ts'
import { LogDestination } from './log-destination.ts'
import { terminalText } from './terminal-text.ts'

const STANDARD_ERROR = 2
/** Who asks for details gets all of them, also at a terminal: stacks, for example. */
const DETAILED: ReadonlySet<string> = new Set(['debug', 'trace'])

/**
 * Characters that end a line for some readers (U+0085, U+2028, U+2029), and characters that control a terminal (C1).
 */
const LOUD = /[\u007f-\u009f\u2028\u2029]/g

/** `level` is the least that is written. */
export function createLog(level: string, stream: DestinationStream): Logger {
  return pino({ level, hooks: { streamWrite: (line) => line.replace(LOUD, escaped) } }, stream)
}

/** The log of a server, which continues even if the log can't be written. `linesLost`: since the start. */
export function openServerLog(level: string): { readonly log: Logger; readonly linesLost: () => number } {
  const destination = new LogDestination(new WholeLines(STANDARD_ERROR), tellLost)
  const isForPeople = isatty(STANDARD_ERROR) && !DETAILED.has(level)
  const stream = isForPeople ? { write: (line: string) => destination.write(terminalText(line)) } : destination
  return { log: createLog(level, stream), linesLost: () => destination.lost }
}

/** Made by a separate logger, because the log itself would write to the destination that asks for this line. */
function tellLost(lines: number): string {
  const told: string[] = []
  const log = pino({}, { write: (line) => told.push(line) })
  log.warn({ lines }, 'lines of this log are missing here: they could not be written')
  return told.join('')
}

/** In a line of JSON such a character can only stand inside a string, where its escape means the same. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
