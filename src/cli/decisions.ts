/** sallyport decisions …: searches, follows and verifies the decision log. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { Command, InvalidArgumentError } from 'commander'
import { onSignals } from '../base/command-process.ts'
import { linesIn } from '../base/files/lines.ts'
import { type DecisionRecord, fitsFilter, parseRecord, type RecordFilter } from '../decision-log/decision-record.ts'
import { filesOfLog, followLines, openFilesOfLog, readLinesBackwards } from '../decision-log/log-files.ts'
import { recordText } from '../decision-log/record-line.ts'
import { print, printNote, printReport } from '../present/print.ts'
import { existing, LOG, named } from './decision-log.ts'
import { declareProofs } from './decisions-proof.ts'
import { gather, SINCE, TEXT_OR_JSON, UNTIL, wholeNumber, withHelp } from './options.ts'

interface QueryFlags extends RecordFilter {
  readonly format: 'text' | 'json'
}

interface TailFlags extends QueryFlags {
  readonly lines: number
  readonly follow?: true
}

const OUTCOMES = ['allowed', 'refused', 'failed']

export function decisionsCommand(): Command {
  const decisions = new Command('decisions').description('search, follow and verify the decision log')
  withFilter(
    withHelp(decisions.command('query'), {
      about: 'print the matching records, oldest first',
      note: 'The older files of the log (LOG.1, LOG.2, …) are read too.',
      examples: [
        'decisions query --outcome refused --role support --since 2026-12-04T00:00:00Z',
        'decisions query data/decisions.log --request-id 0190b2c4-7d1e-7000-8000-000000000000 --format json',
      ],
    }),
  )
    .addArgument(LOG)
    .action(async (log, flags) => query(await existing(log), flags))
  withFilter(
    withHelp(decisions.command('tail'), {
      about: 'print the last matching records; with -f, also print each new one',
      examples: ['decisions tail', 'decisions tail -n 0 -f --outcome refused'],
    }),
  )
    .addArgument(LOG)
    .option('-n, --lines <number>', 'how many records to print', wholeNumber(0, 999_999), 10)
    .option('-f, --follow', 'wait for new records until Ctrl-C')
    .action(async (log, flags) => tail(await (flags.follow ? named(log) : existing(log)), flags))
  declareProofs(decisions)
  return decisions
}

function withFilter(command: Command) {
  return command
    .option('--role <role>', 'only callers with this role; repeat for more', gather)
    .option('--method <method>', 'only this method: of HTTP, COMMAND, SERVER or MIGRATE; repeat for more', gather)
    .option('--resource <name>', 'only this resource; repeat for more', gather)
    .option('--action <name>', 'only this action; repeat for more', gather)
    .option('--subject <id>', 'only this subject; repeat for more', gather)
    .option(
      '--credential <text>',
      'only this credential, as records name it: "key EcP2LDMWFc"; repeat for more',
      gather,
    )
    .option('--outcome <outcome>', 'only this outcome: allowed, refused or failed; repeat for more', readOutcome)
    .option('--status <code>', 'only answers with this status code; repeat for more', readStatus)
    .option('--route <path>', 'only this route, as the schema writes it: /api/orders/{id}; repeat for more', gather)
    .option(
      '--rule <place>',
      'only what this line decided, as records name it: policy.csv:28; repeat for more',
      readRule,
    )
    .option(
      '--request-id <id>',
      'only this request: the `instance` of its problem, with or without urn:uuid:; repeat for more',
      gatherId,
    )
    .option('--trace-id <id>', 'only requests of this OpenTelemetry trace; repeat for more', gather)
    .option('--batch <id>', 'only requests of the batch with this request id; repeat for more', gatherId)
    .option('--instance <name>', 'only answers of this instance (INSTANCE); repeat for more', gather)
    .addOption(SINCE)
    .addOption(UNTIL)
    .addOption(TEXT_OR_JSON)
}

async function query(log: string, flags: QueryFlags): Promise<void> {
  let found = 0
  let others = 0
  for (const file of await openFilesOfLog(log)) {
    for await (const record of recordsIn(file)) {
      if (record === undefined) others += 1
      else if (fitsFilter(record, flags)) {
        printRecord(record, flags)
        found += 1
      }
    }
  }
  if (found === 0) noteNoMatch(flags)
  noteOtherLines(others)
}

/** Undefined for a line that isn't a record. */
async function* recordsIn(file: FileHandle): AsyncGenerator<DecisionRecord | undefined> {
  const input = file.createReadStream({ encoding: 'utf8' })
  for await (const line of linesIn(input)) {
    if (line !== '') yield parseRecord(line)
  }
}

async function tail(file: string, flags: TailFlags): Promise<void> {
  // Following starts at exactly this moment, so that no record is printed twice or left out.
  const end = (await stat(file).catch(() => undefined))?.size ?? 0
  const last = await lastRecords(file, end, flags)
  for (const record of last) printRecord(record, flags)
  if (flags.follow) await follow(file, end, flags)
  else if (last.length === 0) noteNoMatch(flags)
}

/** `end`: the number of bytes to read; the file may be growing. */
async function lastRecords(log: string, end: number, flags: TailFlags): Promise<readonly DecisionRecord[]> {
  const found: DecisionRecord[] = []
  for (const file of (await filesOfLog(log)).toReversed()) {
    await using handle = await open(file)
    for await (const line of readLinesBackwards(handle, file === log ? end : undefined)) {
      if (found.length >= flags.lines) return found.toReversed()
      const record = parseRecord(line)
      if (record && fitsFilter(record, flags)) found.push(record)
    }
  }
  return found.toReversed()
}

async function follow(file: string, end: number, flags: TailFlags): Promise<void> {
  const stop = new AbortController()
  onSignals(['SIGINT', 'SIGTERM'], () => stop.abort())
  let others = 0
  for await (const line of followLines(file, end, stop.signal)) {
    const record = parseRecord(line)
    if (!record) others += 1
    else if (fitsFilter(record, flags)) printRecord(record, flags)
  }
  noteOtherLines(others)
}

function printRecord(record: DecisionRecord, { format }: QueryFlags): void {
  printReport(format, `${format === 'json' ? JSON.stringify(record) : recordText(record)}\n`)
}

/** Standard output holds only records; with `--format json`, no record is an empty list. */
function noteNoMatch({ format }: QueryFlags): void {
  printNote('sallyport: no records match\n')
  if (format === 'json') print('[]\n')
}

function noteOtherLines(count: number): void {
  if (count > 0) printNote(`sallyport: skipped lines that are not decision records: ${count}\n`)
}

/** Returns the ids in the form that records use. */
function gatherId(value: string, others?: readonly string[]): readonly string[] {
  return gather(value.toLowerCase().replace(/^urn:uuid:/, ''), others)
}

function readOutcome(value: string, others?: readonly string[]): readonly string[] {
  if (OUTCOMES.includes(value)) return gather(value, others)
  throw new InvalidArgumentError('It must be allowed, refused or failed.')
}

function readRule(value: string, others?: readonly string[]): readonly string[] {
  if (/^[^/:\s]+:[1-9]\d*$/.test(value)) return gather(value, others)
  throw new InvalidArgumentError('It must be a file and a line, like policy.csv:28.')
}

function readStatus(value: string, others: readonly number[] = []): readonly number[] {
  if (/^[1-5]\d\d$/.test(value)) return [...others, Number(value)]
  throw new InvalidArgumentError('It must be a status code, like 403.')
}
