/** sallyport decisions query: the records that somebody asks for. */
import type { FileHandle } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Command } from 'commander'
import { openFilesOfLog } from '../decision-log/log-files.ts'
import { parseRecord } from '../decision-log/parse-record.ts'
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

const HELP = `
LOG is a decision log, DECISION_LOG_FILE unless it is said; its full files (LOG.1, LOG.2, …) are read before it.

  sallyport decisions query --outcome refused --role support --since 2026-12-04T00:00:00Z
`

export function decisionsQueryCommand(usual: DecisionLogFile): Command {
  const command = new Command('query')
    .description('the records that fit, oldest first')
    .argument('[log]', 'a decision log (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)')
    .addHelpText('after', HELP)
  return withRecordOptions(command).action(async (log: string | undefined, options: RecordOptions) => {
    const files = await openFilesOfLog(namedLog(log ?? usual()))
    if (files.length === 0) throw new ReviewError(`there is no decision log ${log ?? usual()}`)
    let found = 0
    let others = 0
    for (const file of files) {
      const counted = await queryFile(file, options)
      found += counted.found
      others += counted.others
    }
    if (found === 0) tellNone(options)
    tellOtherLines(others)
  })
}

/** How many records fit, and how many lines are none. */
async function queryFile(
  file: FileHandle,
  options: RecordOptions,
): Promise<{ readonly found: number; readonly others: number }> {
  let found = 0
  let others = 0
  const lines = createInterface({
    input: file.createReadStream({ encoding: 'utf8' }),
    crlfDelay: Number.POSITIVE_INFINITY,
  })
  for await (const line of lines) {
    const record = line === '' ? undefined : parseRecord(line)
    if (record && fits(record, options)) {
      printRecord(record, options)
      found += 1
    }
    if (!record && line !== '') others += 1
  }
  return { found, others }
}

function namedLog(file: string | undefined): string {
  if (file !== undefined) return file
  throw new ReviewError('the decision log goes to standard output (DECISION_LOG_FILE is -); name a file that keeps it')
}
