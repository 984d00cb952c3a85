/**
 * The server's log: JSON for programs, sentences for a person at a terminal. It never stops the server: lines that
 * can't be written (because of a full disk, for example) are dropped and counted, and when writing works again a line
 * says how many are missing at this place.
 */
import { isatty } from 'node:tty'
import { type DestinationStream, type Logger, pino } from 'pino'
import { environment } from '../../base/command-process.ts'
import { formatDiagnostic } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import { CutShort, WholeLines } from '../../decision-log/whole-lines.ts'
import { printable, quote } from '../../present/quote.ts'
import { secretsHiddenOf } from '../../present/without-secrets.ts'

const STANDARD_ERROR = 2
/** Who asks for details gets all of them, also at a terminal: stacks, for example. */
const DETAILED: ReadonlySet<string> = new Set(['debug', 'trace'])

/**
 * Characters that end a line for some readers (U+0085, U+2028, U+2029), and characters that control a terminal (C1).
 */
const LOUD = /[\u007f-\u009f\u2028\u2029]/g

/** `level` is the least that is written. Secrets that stand in a setting by mistake are hidden. */
export function createLog(level: string, stream: DestinationStream): Logger {
  const hidden = secretsHiddenOf(environment())
  return pino({ level, hooks: { streamWrite: (line) => hidden(line).replace(LOUD, escaped) } }, stream)
}

/** The log of a server, which continues even if the log can't be written. `linesLost`: since the start. */
export function openServerLog(level: string): { readonly log: Logger; readonly linesLost: () => number } {
  const destination = new LogDestination(new WholeLines(STANDARD_ERROR), describeLost)
  const isForPeople = isatty(STANDARD_ERROR) && !DETAILED.has(level)
  const stream = isForPeople ? { write: (line: string) => destination.write(terminalText(line)) } : destination
  return { log: createLog(level, stream), linesLost: () => destination.lost }
}

/** Made by a separate logger, because the log itself would write to the destination that asks for this line. */
function describeLost(lines: number): string {
  const written: string[] = []
  const log = pino({}, { write: (line) => written.push(line) })
  log.warn({ lines }, 'lines of this log are missing here: they could not be written')
  return written.join('')
}

/** In a line of JSON such a character can only stand inside a string, where its escape means the same. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The time that the log waits, once, for a reader that is too slow. */
const LONGEST_WAIT_MS = 100
const RETRY_MS = 1000

export class LogDestination {
  readonly #lines: WholeLines
  readonly #describeLost: (count: number) => string
  readonly #retryMs: number
  #retrying: NodeJS.Timeout | undefined
  /** The lines that were dropped since the last line that counted them. */
  #missing = 0
  #lost = 0

  /** `tellLost` returns the line, with its line end, that says how many are missing. */
  constructor(lines: WholeLines, describeLost: (count: number) => string, retryMs = RETRY_MS) {
    this.#lines = lines
    this.#describeLost = describeLost
    this.#retryMs = retryMs
  }

  /** Lines that were dropped since the start. */
  get lost(): number {
    return this.#lost
  }

  write(line: string): void {
    const taken = this.#retrying ? 'nothing' : this.#take(line, LONGEST_WAIT_MS)
    if (taken === 'whole') return
    this.#retrying ??= setInterval(() => this.#retry(), this.#retryMs).unref()
    if (taken === 'begun') return
    this.#lost += 1
    this.#missing += 1
  }

  /** Finishes a line that was partly written, and then writes how many lines are missing. */
  #retry(): void {
    const taken = this.#take(this.#missing === 0 ? '' : this.#describeLost(this.#missing), 0)
    if (taken !== 'nothing') this.#missing = 0
    if (taken !== 'whole') return
    clearInterval(this.#retrying)
    this.#retrying = undefined
  }

  #take(line: string, longestWaitMs: number): 'whole' | 'begun' | 'nothing' {
    try {
      this.#lines.write(line, longestWaitMs)
      return 'whole'
    } catch (error) {
      return error instanceof CutShort && error.begun > 0 ? 'begun' : 'nothing'
    }
  }
}

const ERROR = 50
const WARNING = 40
/** What every entry has; a terminal shows one process of one machine. */
const OWN: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err', 'faults'])

/** `line`: an entry of the log as JSON. */
function terminalText(line: string): string {
  const entry: unknown = JSON.parse(line)
  if (!isObject(entry)) return line
  const { level, time, msg, err, faults } = entry
  const at = new Date(Number(time)).toTimeString().slice(0, 'hh:mm:ss'.length)
  const details = Object.entries(entry).flatMap(([name, value]) =>
    OWN.has(name) ? [] : [`${printable(name)}=${quote(value)}`],
  )
  const head = [at, `${kindOf(Number(level))}${printable(String(msg ?? ''))}`, ...details].join('  ')
  const causes = [
    ...(isObject(err) ? [String(err.message)] : []),
    ...(Array.isArray(faults) ? faults.map(faultText) : []),
  ]
  return [head, ...causes.flatMap((cause) => cause.split('\n')).map((one) => `  ${printable(one)}`), ''].join('\n')
}

function kindOf(level: number): string {
  if (level >= ERROR) return 'error: '
  return level >= WARNING ? 'warning: ' : ''
}

/** A fault of a file, as the log of a refused policy has it. */
function faultText(fault: Parameters<typeof formatDiagnostic>[0]): string {
  return formatDiagnostic(fault)
}
