/** Where a log begins and ends: who leaves out its first or its last records changes none of the others. */
import type { FileHandle } from 'node:fs/promises'
import { parseRecord } from '../../decision-log/decision-record.ts'
import { linesWithEnds, readLinesBackwards } from '../../decision-log/log-files.ts'
import type { EvidencePeriod } from './period.ts'

/** The times of its first and its last record, RFC 3339; undefined without any. */
export interface LogSpan {
  readonly first: string | undefined
  readonly last: string | undefined
}

/** `files`: the oldest one first. `unsigned`: so many lines at the end don't count. */
export async function spanOf(files: readonly FileHandle[], unsigned = 0): Promise<LogSpan> {
  return { first: await timeIn(linesOf(files)), last: await timeIn(linesBackwards(files), unsigned) }
}

async function* linesOf(files: readonly FileHandle[]): AsyncGenerator<string> {
  for (const file of files) for await (const { line } of linesWithEnds(file)) yield line
}

async function* linesBackwards(files: readonly FileHandle[]): AsyncGenerator<string> {
  for (const file of files.toReversed()) yield* readLinesBackwards(file)
}

/** Of the first record. */
async function timeIn(lines: AsyncIterable<string>, skipped = 0): Promise<string | undefined> {
  let left = skipped
  for await (const line of lines) {
    const time = left > 0 ? undefined : parseRecord(line)?.time
    if (time !== undefined) return time
    left -= 1
  }
  return undefined
}

export function beginsLate({ first }: LogSpan, { from }: EvidencePeriod): boolean {
  return first === undefined || Date.parse(first) >= from
}

export function endsEarly({ last }: LogSpan, { until }: EvidencePeriod): boolean {
  return last === undefined || Date.parse(last) < until
}
