/** The options by which `decisions tail` and `decisions query` choose records, and how they print them. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readDuration } from '../base/duration.ts'
import { parseTime } from '../base/time.ts'
import type { DecisionRecord } from '../decision-log/decision-record.ts'
import type { RecordFilter } from '../decision-log/record-filter.ts'
import { textOf } from '../decision-log/record-text.ts'
import { print, tell } from '../present/print.ts'

export interface RecordOptions extends RecordFilter {
  readonly format: 'text' | 'json'
}

/** The file of the log that the server writes; undefined when it writes to standard output. */
export type DecisionLogFile = () => string | undefined

export function withRecordOptions(command: Command): Command {
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
    .option(...SINCE, readMoment)
    .option(...UNTIL, readMoment)
    .addOption(
      new Option('--format <format>', 'json: the records as they are, a line each')
        .choices(['text', 'json'])
        .default('text'),
    )
}

export function printRecord(record: DecisionRecord, { format }: RecordOptions): void {
  print(`${format === 'json' ? JSON.stringify(record) : textOf(record)}\n`)
}

/** Not on stdout, which holds records only. */
export function tellOtherLines(count: number): void {
  if (count > 0) tell(`sallyport: ${count} lines are no decision records\n`)
}

export const SINCE = ['--since <time>', 'of this time or later: 2026-12-04T18:00:00Z, or 1h for an hour ago'] as const
export const UNTIL = ['--until <time>', 'before this time, said as that of --since'] as const

/** As records have it. */
function gatherId(value: string, others: readonly string[] = []): readonly string[] {
  return [...others, value.toLowerCase().replace(/^urn:uuid:/, '')]
}

/** Not on stdout, which holds records only; JSON says it as an empty list. */
export function tellNone({ format }: RecordOptions): void {
  tell('sallyport: no records match\n')
  if (format === 'json') print('[]\n')
}

function gather(value: string, others: readonly string[] = []): readonly string[] {
  return [...others, value]
}

function readOutcome(value: string, others: readonly string[] = []): readonly string[] {
  if (!['allowed', 'refused', 'failed'].includes(value)) {
    throw new InvalidArgumentError('It must be allowed, refused or failed.')
  }
  return [...others, value]
}

function readStatus(value: string, others: readonly number[] = []): readonly number[] {
  if (!/^[1-5]\d\d$/.test(value)) throw new InvalidArgumentError('It must be a status code, like 403.')
  return [...others, Number(value)]
}

/** Milliseconds since the epoch: a moment, or how long ago it was. */
export function readMoment(text: string): number {
  const ago = readDuration(text)
  if (ago !== undefined) return Date.now() - ago
  const time = parseTime(text)
  if (time !== undefined) return time
  throw new InvalidArgumentError('It must be a time with an offset, like 2026-12-04T18:00:00Z, or a duration, like 1h.')
}
