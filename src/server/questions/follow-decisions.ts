/**
 * New decision records as server-sent events (HTML, section 9.2). Each stream ends after a minute at most, and its client
 * asks again with the id of the last event: so whoever may no longer read the log is refused soon, by the gate alone.
 */
import { open, stat } from 'node:fs/promises'
import { type DecisionRecord, fitsFilter, parseRecord, type RecordFilter } from '../../decision-log/decision-record.ts'
import { filesOfLog, followLines, readLinesBackwards } from '../../decision-log/log-files.ts'
import type { QuestionBody } from './question-commands.ts'

/** The most records that are looked at to find the last event of the stream before. */
const MOST_BEHIND = 10_000
/** Of their lines: each stream holds them until its client has taken them. */
const MOST_CHARACTERS = 1_000_000

/** Gives text until the signal aborts: the events that came after `after`, and then new ones. */
export async function* followDecisions(log: string, asked: QuestionBody, signal: AbortSignal): AsyncGenerator<string> {
  const filter = filterOf(asked)
  const { after } = asked
  // Read now, so that no record is sent twice or left out.
  const end = (await stat(log).catch(() => undefined))?.size ?? 0
  // So that a client knows at once that it is listening.
  yield ': following\n\n'
  if (typeof after === 'string') yield* missed(log, { after, end, filter, signal })
  for await (const line of followLines(log, end, signal)) yield* eventsOf(line, filter)
}

interface Behind {
  readonly after: string
  /** In bytes. */
  readonly end: number
  readonly filter: RecordFilter
  readonly signal: AbortSignal
}

async function* missed(log: string, { after, end, filter, signal }: Behind): AsyncGenerator<string> {
  const lines = await linesAfter(log, { after, end, signal }).catch(() => undefined)
  if (!lines) yield 'event: reset\ndata: {}\n\n'
  for (const line of lines ?? []) yield* eventsOf(line, filter)
}

/** Undefined if the record isn't among the last ones, or they are too many to keep. */
async function linesAfter(
  log: string,
  { after, end, signal }: Omit<Behind, 'filter'>,
): Promise<readonly string[] | undefined> {
  const lines: string[] = []
  let size = 0
  for await (const line of linesBackwards(log, end)) {
    if (parseRecord(line)?.requestId === after) return lines.toReversed()
    size += line.length
    if (lines.push(line) >= MOST_BEHIND || size > MOST_CHARACTERS || signal.aborted) return undefined
  }
  return undefined
}

/** Of all files of the log, the last line first. */
async function* linesBackwards(log: string, end: number): AsyncGenerator<string> {
  for (const file of (await filesOfLog(log)).toReversed()) {
    await using handle = await open(file)
    yield* readLinesBackwards(handle, file === log ? end : undefined)
  }
}

function* eventsOf(line: string, filter: RecordFilter): Generator<string> {
  const record = parseRecord(line)
  if (record && fitsFilter(record, filter)) yield eventText(record)
}

/** JSON has no line end, and an id of a request has none. */
function eventText(record: DecisionRecord): string {
  return `id: ${record.requestId}\nevent: decision\ndata: ${JSON.stringify(record)}\n\n`
}

function filterOf(asked: QuestionBody): RecordFilter {
  const one = (name: string) => (typeof asked[name] === 'string' ? { [name]: [asked[name]] } : {})
  return {
    ...Object.assign(
      {},
      ...['role', 'resource', 'action', 'subject', 'outcome', 'route', 'rule', 'requestId'].map(one),
    ),
    ...(typeof asked.status === 'number' && { status: [asked.status] }),
  }
}
