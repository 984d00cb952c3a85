/** How much a line of policy.csv decides: cells of the access matrix, and the last request in the decision log. */
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { systemReason } from '../base/files/system-reason.ts'
import type { Policy } from '../decide/policy.ts'
import { parseRecord } from '../decision-log/decision-record.ts'
import { filesOfLog, readLinesBackwards } from '../decision-log/log-files.ts'
import type { Blocked } from '../policy/parse/parse-blocked.ts'
import { revisionOf } from '../policy/policy-files.ts'
import { ToolError } from '../tools/load-policy.ts'
import { chooseColumns, decideRows } from '../tools/permissions/matrix.ts'
import type { EditorQuestion } from './question.ts'

/** An editor waits for them: some two seconds of work. */
const MOST_CELLS = 20_000
const MOST_RECORDS = 20_000

const NOBODY: Blocked = new Map()

/** Undefined for a line that is no rule, and for a matrix that is too large. */
export function cellsOfLine(policy: Policy, line: number, { resources }: EditorQuestion['known']): string | undefined {
  const rule = policy.rules.find((one) => one.line === line)
  if (!rule) return undefined
  const only = resources.byName.has(rule.resource) ? new Set([rule.resource]) : undefined
  try {
    const columns = chooseColumns(policy, [])
    const request = { resources, columns, only, now: Date.now(), mostCells: MOST_CELLS }
    const rows = decideRows({ policy, blocked: NOBODY }, request)
    const cells = rows.flatMap((row) => row.cells)
    const decided = cells.filter(({ rules }) => rules.some((one) => one.line === line)).length
    const command = `sallyport policy matrix${only ? ` --resource ${rule.resource}` : ''}`
    return `It decides ${decided} of ${cells.length} cells of ${command}.`
  } catch (error) {
    if (error instanceof ToolError) return undefined
    throw error
  }
}

/**
 * By the records that the saved files decided, since a line has its number there. Undefined without a log, and for a line
 * that isn't saved.
 */
export async function lastUseOfLine(question: EditorQuestion, line: number, log: string): Promise<string | undefined> {
  try {
    return await foundUse(question, line, log)
  } catch (error) {
    // A log that can't be read, or is renamed at this moment, takes nothing from what is known of the files.
    return `The decision log could not be read: ${systemReason((error as NodeJS.ErrnoException).code)}.`
  }
}

async function foundUse({ project, source }: EditorQuestion, line: number, log: string): Promise<string | undefined> {
  const files = await filesOfLog(log)
  if (files.length === 0) return undefined
  const { reading } = await project.read(new Map())
  const saved = reading.files()
  const text = source.text.split(/\r?\n/)[line - 1]
  const places = saved['policy.csv'].text.split(/\r?\n/).flatMap((one, i) => (one === text ? [i + 1] : []))
  if (places.length === 0) return undefined
  const rules = places.map((place) => `${basename(saved['policy.csv'].name)}:${place}`)
  const revision = revisionOf(saved, reading.blocked())
  let looked = 0
  for (const file of files.toReversed()) {
    await using handle = await open(file)
    for await (const record of readLinesBackwards(handle)) {
      if (looked === MOST_RECORDS) return `None of the last ${MOST_RECORDS} requests was decided by it as it is saved.`
      looked += 1
      const found = parseRecord(record)
      if (found?.revision !== revision) continue
      if (rules.some((one) => found.rules?.includes(one))) return `Last used ${found.time}.`
    }
  }
  return 'No request in the decision log was decided by it as it is saved.'
}
