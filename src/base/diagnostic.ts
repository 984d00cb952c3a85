/** What is wrong with a file that a person edits: a stable code, the place, one sentence, and what to do about it. */

/** Line and column count from 1; the column counts UTF-16 code units. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

export interface Diagnostic extends Place {
  readonly code: string
  readonly severity: 'error' | 'warning'
  /** One sentence, lower case, no final period, values in backticks. */
  readonly message: string
  readonly hint?: string
}

/** A fault before it is kept: a hint that takes time is made only when the fault is kept. */
interface Reported extends Omit<Diagnostic, 'hint'> {
  readonly hint?: string | (() => string) | undefined
}

export type FaultReporter = (fault: Reported) => void

/** How many faults of a reading are kept: a file of a million bad lines must hold up neither a command nor a server. */
export const MOST_FAULTS = 1000
/** How many lines a message has. */
const MOST_LINES = 100

/** Gathers what is wrong with some files; what is over MOST_FAULTS is counted. */
export class Faults {
  readonly #kept: Diagnostic[] = []
  #more = 0

  readonly report: FaultReporter = ({ hint, ...fault }) => {
    if (this.#kept.length >= MOST_FAULTS) {
      this.#more += 1
      return
    }
    const text = typeof hint === 'function' ? hint() : hint
    this.#kept.push({ ...fault, ...(text ? { hint: text } : {}) })
  }

  /** Throws FileError when there is any. */
  throwAny(): void {
    if (this.#kept.length > 0) throw new FileError(this.#kept, this.#more)
  }
}

/** All that is wrong at once, sorted by place. Its message is one line a diagnostic, `file:line:column: message`. */
export class FileError extends Error {
  readonly diagnostics: readonly Diagnostic[]
  /** How many more faults there are. */
  readonly more: number

  constructor(diagnostics: readonly Diagnostic[], more = 0) {
    const sorted = diagnostics.toSorted(byPlace)
    const lines = sorted.slice(0, MOST_LINES).map(formatDiagnostic)
    const untold = sorted.length - lines.length + more
    super([...lines, ...(untold > 0 ? [`and ${untold} more`] : [])].join('\n'))
    this.name = 'FileError'
    this.diagnostics = sorted
    this.more = more
  }
}

export function formatDiagnostic({ file, line, column, message, hint, code }: Diagnostic): string {
  return `${file}:${line}:${column}: ${message}${hint ? ` (${hint})` : ''} [${code}]`
}

/** The place of a character offset (UTF-16 code units from 0) in a text. */
export function placeAt(file: string, text: string, offset: number): Place {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { file, line: before.split('\n').length, column: offset - lineStart + 1 }
}

/** Like placeAt, for many offsets of one text, in one pass. */
export function placesIn(file: string, text: string): (offset: number) => Place {
  let starts: readonly number[] | undefined
  return (offset) => {
    starts ??= [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
    let [low, high] = [0, starts.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle
    }
    return { file, line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
  }
}

/** Compares by file, line, column, then code. */
export function byPlace(a: Diagnostic, b: Diagnostic): number {
  return compare(a.file, b.file) || a.line - b.line || a.column - b.column || compare(a.code, b.code)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** A file that a person edits: the name that diagnostics call it by, and its text. */
export interface SourceFile {
  readonly name: string
  readonly text: string
}
