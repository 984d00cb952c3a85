/** Where a text differs from an earlier one, as parts that can be taken back one by one. */
import { diffArrays } from 'diff'

export interface ChangedLines {
  /** The first line of the part in the new text, from 0; for lines that are gone, the line behind them. */
  readonly line: number
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** With more differences, a text counts as another one. */
const MOST_EDITS = 2000

/** Undefined for texts with too many differences. Ends of lines are a part of the lines. */
export function changedParts(before: string, after: string): readonly ChangedLines[] | undefined {
  const found = diffArrays(before.split('\n'), after.split('\n'), { maxEditLength: MOST_EDITS })
  if (!found) return undefined
  const parts: ChangedLines[] = []
  let line = 0
  for (const [i, { added, removed, value }] of found.entries()) {
    const next = found[i + 1]
    if (removed) parts.push({ line, before: value, after: next?.added ? next.value : [] })
    else if (added && !found[i - 1]?.removed) parts.push({ line, before: [], after: value })
    if (!removed) line += value.length
  }
  return parts
}

/** One part for each line, where the lines of both sides belong together in pairs, or one side has none. */
export function eachLine({ line, before, after }: ChangedLines): readonly ChangedLines[] {
  if (before.length === 0) return after.map((text, i) => ({ line: line + i, before: [], after: [text] }))
  if (before.length !== after.length) return [{ line, before, after }]
  return after.map((text, i) => ({ line: line + i, before: [before[i] ?? ''], after: [text] }))
}

/** The new text with the old lines in this one part. */
export function takenBack(text: string, { line, before, after }: ChangedLines): string {
  return text
    .split('\n')
    .toSpliced(line, after.length, ...before)
    .join('\n')
}
