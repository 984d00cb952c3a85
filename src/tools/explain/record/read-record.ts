/** A decision record of the server's log (one JSON object a line), as far as explain needs it. */
import type { Representation } from '../../../resources/resource.ts'
import { ReviewError } from '../../load-policy.ts'

export interface DecisionRecord {
  /** RFC 3339. */
  readonly time: string | undefined
  readonly requestId: string | undefined
  readonly revision: string
  readonly method: string
  /** The path as the schema file writes it; undefined where no route accepted the request. */
  readonly route: string | undefined
  readonly objectId: string | undefined
  readonly authentication: string | undefined
  readonly subject: string | undefined
  readonly roles: readonly string[]
  readonly status: number
  /** Undefined when the request was allowed. */
  readonly problem: string | undefined
  /** Undefined, as `rules`, when no rule was asked. */
  readonly relations: readonly string[] | undefined
  readonly rules: readonly string[] | undefined
  readonly fieldsRefused: readonly string[]
  /** Fields that a list was filtered and sorted by. */
  readonly queried: readonly string[]
  /** Attributes of the caller that were looked at; undefined where none were. */
  readonly attributes: Representation | undefined
  /** Fields that its rows were cut to; empty where they weren't. */
  readonly selected: readonly string[]
  /** Whether the policy looked at the proposed object. */
  readonly proposed: boolean
}

type Fields = Readonly<Record<string, unknown>>

/** The first decision record among the lines of a log. Throws ReviewError; `source` is what it calls the file. */
export async function readRecord(lines: AsyncIterable<string>, source: string): Promise<DecisionRecord> {
  for await (const line of lines) {
    const fields = parse(line)
    if (fields?.record === 'decision') return recordOf(fields)
  }
  throw new ReviewError(`${source} holds no decision record: a line of the server's log with "record":"decision"`)
}

/** A log may hold lines of other programs. */
function parse(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}

function recordOf(fields: Fields): DecisionRecord {
  const { status } = fields
  const facts = (fields.facts ?? {}) as Fields
  if (typeof status !== 'number') throw unusable('status')
  return {
    status,
    revision: text(fields, 'revision') ?? missing('revision'),
    method: text(fields, 'method') ?? missing('method'),
    time: text(fields, 'time'),
    requestId: text(fields, 'requestId'),
    route: text(fields, 'route'),
    objectId: text(fields, 'objectId'),
    authentication: text(fields, 'authentication'),
    subject: text(fields, 'subject'),
    roles: texts(fields, 'roles') ?? [],
    problem: text(fields, 'problem'),
    relations: texts(fields, 'relations'),
    rules: texts(fields, 'rules'),
    fieldsRefused: texts(fields, 'fieldsRefused') ?? [],
    queried: texts(facts, 'queried') ?? [],
    attributes: facts.attributes as Representation | undefined,
    selected: texts(facts, 'selected') ?? [],
    proposed: facts.proposed !== undefined,
  }
}

function text(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  if (value === undefined || typeof value === 'string') return value
  throw unusable(name)
}

function texts(fields: Fields, name: string): readonly string[] | undefined {
  const value = fields[name]
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  throw unusable(name)
}

function missing(name: string): never {
  throw unusable(name)
}

function unusable(name: string): ReviewError {
  return new ReviewError(`the decision record has no usable \`${name}\`; give a line of the log as the server wrote it`)
}
