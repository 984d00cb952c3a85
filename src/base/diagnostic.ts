/** A fault of a file that a person edits: a stable code, the place, one sentence, and what to do about it. */
import { byText } from './by-text.ts'

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

/** A fault before it is kept: a slow hint is computed only if the fault is kept. */
interface Reported extends Omit<Diagnostic, 'hint'> {
  readonly hint?: string | (() => string) | undefined
}

export type FaultReporter = (fault: Reported) => void

export type Reporter = (diagnostic: Diagnostic) => void

/**
 * The number of faults that are kept of one reading: a file of a million bad lines must not delay a command or a
 * server.
 */
export const MOST_FAULTS = 1000
/** The largest number of lines of a message. */
const MOST_LINES = 100

/** Collects the faults of some files; faults beyond MOST_FAULTS are only counted. */
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

  /** Throws FileError if there are any. */
  throwAny(): void {
    if (this.#kept.length > 0) throw new FileError(this.#kept, this.#more)
  }
}

/** All faults at once, sorted by place. The message has one line for each diagnostic, `file:line:column: message`. */
export class FileError extends Error {
  readonly diagnostics: readonly Diagnostic[]
  /** The number of further faults. */
  readonly more: number

  constructor(diagnostics: readonly Diagnostic[], more = 0) {
    const sorted = diagnostics.toSorted(byPlace)
    const lines = sorted.slice(0, MOST_LINES).map(formatDiagnostic)
    const leftOut = sorted.length - lines.length + more
    super([...lines, ...(leftOut > 0 ? [`and ${leftOut} more`] : [])].join('\n'))
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

/** The result of `read`. Throws FileError with all faults, if it reports any. */
export async function refuseFaults<T>(read: (report: (fault: Diagnostic) => void) => Promise<T>): Promise<T> {
  const faults: Diagnostic[] = []
  const result = await read((fault) => faults.push(fault))
  if (faults.length > 0) throw new FileError(faults)
  return result
}

/** Compares by file, line, column, then code. */
export function byPlace(a: Diagnostic, b: Diagnostic): number {
  return byText(a.file, b.file) || a.line - b.line || a.column - b.column || byText(a.code, b.code)
}

/** A file that a person edits: its name in diagnostics, and its text. */
export interface SourceFile {
  readonly name: string
  readonly text: string
}
