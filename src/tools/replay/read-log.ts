/** The decision records of log files, one after the other, however large the files are. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { linesIn } from '../../base/files/lines.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { parseRecord } from '../../decision-log/decision-record.ts'
import { ToolError } from '../load-policy.ts'

export interface LogReader {
  /** Called for each decision record. */
  readonly onRecord: (record: DecisionRecord) => Promise<void>
  /** Called for each line that is not a decision record. */
  readonly onOther: () => void
  /** Called for each line with its length, including the end of the line. */
  readonly onProgress: (bytes: number) => void
}

/** The bytes of all files together. Throws ToolError for a missing file. */
export async function sizeOf(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(sizeOfOne))
  return sizes.reduce((sum, size) => sum + size, 0)
}

export async function readLog(file: string, { onRecord, onOther, onProgress }: LogReader): Promise<void> {
  for await (const line of linesIn(createReadStream(file, 'utf8'))) {
    onProgress(line.length + 1)
    if (line === '') continue
    const record = parseRecord(line)
    if (record) await onRecord(record)
    else onOther()
  }
}

async function sizeOfOne(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) throw new ToolError(`${file} is not a file: name decision logs`)
  return found.size
}
