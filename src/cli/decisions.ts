/** sallyport decisions …: searches and follows the decision log. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../config.ts'
import type { DecisionRecord } from '../decision-log/decision-record.ts'
import { fitsFilter, parseRecord, type RecordFilter } from '../decision-log/decision-record.ts'
import { followLines } from '../decision-log/follow.ts'
import { filesOfLog, openFilesOfLog, readLinesBackwards } from '../decision-log/log-files.ts'
import { recordText } from '../decision-log/record-text.ts'
import { print, printReport, tell } from '../present/print.ts'
import { CliCommand, gather, moment, SINCE, type TextOrJson, UNTIL, wholeNumber } from './options.ts'

interface QueryFlags extends RecordFilter {
  readonly format: TextOrJson
}

interface TailFlags extends QueryFlags {
  readonly lines: number
  readonly follow?: boolean
}

/** The file of the log that the server writes; undefined when it writes to standard output. */
type UsualLog = () => string | undefined

const LOG = ['[log]', 'a decision log (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)'] as const
const OUTCOMES = ['allowed', 'refused', 'failed']

export function decisionsCommand(usual: UsualLog = () => readConfig(process.env).decisionLog.file): CliCommand {
  const decisions = new CliCommand('decisions').description('what was asked, and how it was decided: the decision log')
  withFilter(decisions.command('query'))
    .description('the records that fit, oldest first')
    .argument(...LOG)
    .note('The full files of the log (LOG.1, LOG.2, …) are read before it.')
    .examples(
      'decisions query --outcome refused --role support --since 2026-12-04T00:00:00Z',
      'decisions query data/decisions.log --request-id 0190b2c4-7d1e-7000-8000-000000000000 --format json',
    )
    .action(async (log: string | undefined, flags: QueryFlags) => query(await existing(log ?? usual()), flags))
  withFilter(decisions.command('tail'))
    .description('the last records that fit, and with -f those that come')
    .argument(...LOG)
    .option('-n, --lines <number>', 'how many of the last', wholeNumber(0, 999_999), 10)
    .option('-f, --follow', 'go on until Ctrl-C')
    .examples('decisions tail', 'decisions tail -n 0 -f --outcome refused')
    .action(async (log: string | undefined, flags: TailFlags) =>
      tail(await (flags.follow ? named(log ?? usual()) : existing(log ?? usual())), flags),
    )
  return decisions
}

function withFilter(command: CliCommand): CliCommand {
  return command
    .option('--role <role>', 'of callers with this role; repeat for several', gather)
    .option('--resource <name>', 'about this resource', gather)
    .option('--action <name>', 'of this action', gather)
    .option('--subject <id>', 'of this subject', gather)
    .option('--credential <text>', 'shown by the caller, as records have it: "key EcP2LDMWFc"', gather)
    .addOption(new Option('--outcome <outcome>', 'with this outcome: allowed, refused, failed').argParser(readOutcome))
    .option('--status <code>', 'answered so', readStatus)
    .option('--route <path>', 'of this route, as the schema writes it: /api/orders/{id}', gather)
    .option('--request-id <id>', 'of this request: the instance of a problem, with or without urn:uuid:', gatherId)
    .option(...SINCE, moment)
    .option(...UNTIL, moment)
    .formats()
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
  if (found === 0) tellNone(flags)
  tellOtherLines(others)
}

/** Undefined for a line that is no record. */
async function* recordsIn(file: FileHandle): AsyncGenerator<DecisionRecord | undefined> {
  const input = file.createReadStream({ encoding: 'utf8' })
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line !== '') yield parseRecord(line)
  }
}

async function tail(file: string, flags: TailFlags): Promise<void> {
  // Following starts at exactly this moment, so that no record is printed twice or left out.
  const end = (await stat(file).catch(() => undefined))?.size ?? 0
  const last = await lastRecords(file, end, flags)
  for (const record of last) printRecord(record, flags)
  if (flags.follow) await follow(file, end, flags)
  else if (last.length === 0) tellNone(flags)
}

/** `end`: how many bytes of the growing file are read. */
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
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  let others = 0
  for await (const line of followLines(file, end, stop.signal)) {
    const record = parseRecord(line)
    if (!record) others += 1
    else if (fitsFilter(record, flags)) printRecord(record, flags)
  }
  tellOtherLines(others)
}

/** Throws ReviewError, like `existing`. */
async function named(log: string | undefined): Promise<string> {
  if (log !== undefined) return log
  return refuse('the decision log goes to standard output (DECISION_LOG_FILE is -); name a file that keeps it')
}

async function existing(log: string | undefined): Promise<string> {
  const file = await named(log)
  return (await filesOfLog(file)).length > 0 ? file : refuse(`there is no decision log ${file}`)
}

async function refuse(message: string): Promise<never> {
  const { ReviewError } = await import('../tools/load-policy.ts')
  throw new ReviewError(message)
}

function printRecord(record: DecisionRecord, { format }: QueryFlags): void {
  printReport(format, `${format === 'json' ? JSON.stringify(record) : recordText(record)}\n`)
}

/** Standard output holds only records; with `--format json`, no record is an empty list. */
function tellNone({ format }: QueryFlags): void {
  tell('sallyport: no records match\n')
  if (format === 'json') print('[]\n')
}

function tellOtherLines(count: number): void {
  if (count > 0) tell(`sallyport: ${count} lines are no decision records\n`)
}

/** In the form that records use. */
function gatherId(value: string, others?: readonly string[]): readonly string[] {
  return gather(value.toLowerCase().replace(/^urn:uuid:/, ''), others)
}

function readOutcome(value: string, others?: readonly string[]): readonly string[] {
  if (OUTCOMES.includes(value)) return gather(value, others)
  throw new InvalidArgumentError('It must be allowed, refused or failed.')
}

function readStatus(value: string, others: readonly number[] = []): readonly number[] {
  if (/^[1-5]\d\d$/.test(value)) return [...others, Number(value)]
  throw new InvalidArgumentError('It must be a status code, like 403.')
}
