/** Reads the decision record to explain: a line of the server's log, possibly written by an older version. */
import { type DecisionRecord, parseMembers, unusableMember } from '../../decision-log/decision-record.ts'
import { ToolError } from '../load-policy.ts'

const REQUIRED = ['status', 'revision', 'method'] as const

export type ExplainableRecord = Partial<DecisionRecord> & Pick<DecisionRecord, (typeof REQUIRED)[number]>

/**
 * The first decision record among the lines of a log, which may also hold lines of other programs. Throws ToolError;
 * `source` is the file's name in its message.
 */
export async function readRecord(lines: AsyncIterable<string>, source: string): Promise<ExplainableRecord> {
  for await (const line of lines) {
    const members = parseMembers(line)
    if (members?.record !== 'decision') continue
    const unusable = unusableMember(members, REQUIRED)
    if (unusable === undefined) return members as unknown as ExplainableRecord
    throw new ToolError(
      `the decision record has no usable \`${unusable}\`: give a line of the log as the server wrote it`,
    )
  }
  throw new ToolError(`${source} holds no decision record: give a line of the server's log with "record":"decision"`)
}
