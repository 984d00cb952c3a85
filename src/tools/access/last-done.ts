/** When each caller was last allowed an action, by the decision log. */
import { createReadStream } from 'node:fs'
import { linesIn } from '../../base/files/lines.ts'
import { type DecisionRecord, fitsFilter, parseRecord } from '../../decision-log/decision-record.ts'
import { filesOfLog } from '../../decision-log/log-files.ts'
import { ToolError } from '../load-policy.ts'

interface DoneAction {
  readonly resource: string
  readonly action: string
  /** Undefined for an action that concerns no object. */
  readonly object: string | undefined
}

/** By the subject, and by `key <id>`. Undefined if there is no log and none was named. Throws ToolError. */
export async function lastDoneIn(
  log: string | undefined,
  isNamed: boolean,
  done: DoneAction,
): Promise<ReadonlyMap<string, string> | undefined> {
  const records = await recordsOfLog(log, isNamed)
  if (!records) return undefined
  const last = new Map<string, string>()
  for await (const record of records()) noteRecord(last, record, done)
  return last
}

/** Undefined if there is no log and none was named. Throws ToolError. */
export async function recordsOfLog(
  log: string | undefined,
  isNamed: boolean,
): Promise<(() => AsyncGenerator<DecisionRecord>) | undefined> {
  const files = log === undefined ? [] : await filesOfLog(log)
  if (files.length === 0 && isNamed)
    throw new ToolError(`there is no decision log ${log}: name another file with --log`)
  if (files.length === 0) return undefined
  return () => recordsIn(files)
}

async function* recordsIn(files: readonly string[]): AsyncGenerator<DecisionRecord> {
  for (const file of files) {
    for await (const line of linesIn(createReadStream(file, 'utf8'))) {
      const record = parseRecord(line)
      if (record) yield record
    }
  }
}

function noteRecord(last: Map<string, string>, record: DecisionRecord, { resource, action, object }: DoneAction): void {
  const filter = { resource: [resource], action: [action], outcome: ['allowed'] }
  if (record.objectId !== object || !fitsFilter(record, filter)) return
  for (const name of [record.subject, record.credential]) {
    if (name !== undefined && record.time > (last.get(name) ?? '')) last.set(name, record.time)
  }
}
