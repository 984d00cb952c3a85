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

/** All that is wrong at once, sorted by place. Its message is one line a diagnostic, `file:line:column: message`. */
export class FileError extends Error {
  readonly diagnostics: readonly Diagnostic[]

  constructor(diagnostics: readonly Diagnostic[]) {
    const sorted = diagnostics.toSorted(byPlace)
    super(sorted.map(formatDiagnostic).join('\n'))
    this.name = 'FileError'
    this.diagnostics = sorted
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

/** For sorting: by file, line, column, then code. */
export function byPlace(a: Diagnostic, b: Diagnostic): number {
  return compare(a.file, b.file) || a.line - b.line || a.column - b.column || compare(a.code, b.code)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
