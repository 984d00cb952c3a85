/** What a check is: a table of codes, and a function that finds. Types, and the one way to make a warning. */
import type { Diagnostic, Place } from '../../base/diagnostic.ts'

/** A line of docs/checks.md. `meaning` and `mend` are sentences without a final period, values in backticks. */
export interface CodeEntry {
  readonly code: string
  readonly meaning: string
  readonly mend: string
}

export interface Check<Subject> {
  readonly codes: readonly CodeEntry[]
  readonly find: (subject: Subject) => readonly Diagnostic[]
}

export function warning(place: Place, code: string, message: string, hint: string): Diagnostic {
  const { file, line, column } = place
  return { file, line, column, code, severity: 'warning', message, hint }
}

/** `line 4`, `lines 4 and 9`, `lines 4, 9, 12 and 3 more`. */
export function linesText(lines: readonly number[]): string {
  const sorted = [...new Set(lines)].sort((a, b) => a - b)
  const [first, ...rest] = sorted
  if (rest.length === 0) return `line ${first}`
  const shown = sorted.slice(0, 3)
  if (sorted.length > 3) return `lines ${shown.join(', ')} and ${sorted.length - 3} more`
  return `lines ${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

/** Names in backticks: `a`, `b`. */
export function namesText(names: Iterable<string>): string {
  return [...names].map((name) => `\`${name}\``).join(', ')
}
