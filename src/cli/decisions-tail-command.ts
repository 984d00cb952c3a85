/** sallyport decisions tail: the last records, and those that come. */
import { open, stat } from 'node:fs/promises'
import { Command, InvalidArgumentError } from 'commander'
import type { DecisionRecord } from '../decision-log/decision-record.ts'
import { followLines } from '../decision-log/follow.ts'
import { filesOfLog } from '../decision-log/log-files.ts'
import { parseRecord } from '../decision-log/parse-record.ts'
import { readLinesBackwards } from '../decision-log/read-backwards.ts'
import { fits } from '../decision-log/record-filter.ts'
import { ReviewError } from '../tools/load-policy.ts'
import {
  type DecisionLogFile,
  printRecord,
  type RecordOptions,
  tellNone,
  tellOtherLines,
  withRecordOptions,
} from './record-options.ts'

interface Options extends RecordOptions {
  readonly lines: number
  readonly follow?: boolean
}

export function decisionsTailCommand(usual: DecisionLogFile): Command {
  const command = new Command('tail')
    .description('the last records that fit, and with -f those that come')
    .argument('[log]', 'a decision log (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)')
    .option('-n, --lines <number>', 'how many of the last', readCount, 10)
    .option('-f, --follow', 'go on until Ctrl-C')
  return withRecordOptions(command).action(async (log: string | undefined, options: Options) => {
    const file = log ?? usual()
    if (file === undefined) {
      throw new ReviewError(
        'the decision log goes to standard output (DECISION_LOG_FILE is -); name a file that keeps it',
      )
    }
    const files = await filesOfLog(file)
    if (files.length === 0 && !options.follow) throw new ReviewError(`there is no decision log ${file}`)
    // What comes after this moment is followed, so that nothing is told twice or left out.
    const end = (await stat(file).catch(() => undefined))?.size ?? 0
    const last = await lastOf(files, { file, end }, options)
    for (const record of last) printRecord(record, options)
    if (last.length === 0 && !options.follow) tellNone(options)
    if (options.follow) await follow({ file, end }, options)
  })
}

interface Growing {
  readonly file: string
  /** Bytes that are there at the start. */
  readonly end: number
}

async function lastOf(
  files: readonly string[],
  growing: Growing,
  options: Options,
): Promise<readonly DecisionRecord[]> {
  const found: DecisionRecord[] = []
  for (const file of files.toReversed()) {
    await using handle = await open(file)
    for await (const line of readLinesBackwards(handle, file === growing.file ? growing.end : undefined)) {
      if (found.length >= options.lines) return found.toReversed()
      const record = parseRecord(line)
      if (record && fits(record, options)) found.push(record)
    }
  }
  return found.toReversed()
}

async function follow({ file, end }: Growing, options: Options): Promise<void> {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  let others = 0
  for await (const line of followLines(file, end, stop.signal)) {
    const record = parseRecord(line)
    if (!record) others += 1
    else if (fits(record, options)) printRecord(record, options)
  }
  tellOtherLines(others)
}

function readCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
