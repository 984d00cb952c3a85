/** The questions in records, decided again under the policy that answered them. */
import { type AskedRecord, type DecisionRecord, parseRecord } from '../../src/decision-log/decision-record.ts'
import type { App } from '../../src/server/app.ts'
import { decideQuestion, type QuestionAgain } from '../../src/tools/evidence/decide-questions.ts'

interface AskedAgain {
  readonly asked: AskedRecord
  readonly again: QuestionAgain
}

/** `told`: changes what a record says of a question. */
export async function questionsAgain(
  { resources, policy }: App,
  records: readonly object[],
  told: (asked: AskedRecord) => AskedRecord = (asked) => asked,
): Promise<readonly AskedAgain[]> {
  const replay = { resources, policyAt: () => policy.active }
  const asking = records
    .map((record) => parseRecord(JSON.stringify(record)))
    .filter((one): one is DecisionRecord => one?.revision === policy.active.revision)
  const found: AskedAgain[] = []
  for (const record of asking) {
    const changed = { ...record, asked: record.asked?.map(told) }
    for (const [place, asked] of changed.asked?.entries() ?? []) {
      found.push({ asked, again: await decideQuestion(replay, changed, place) })
    }
  }
  return found
}
