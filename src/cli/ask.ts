/** A question on a terminal. */
import { tell } from '../present/print.ts'

/** The answer; undefined where standard input has ended. `lines` outlives the question: typed lines may come early. */
export async function askLine(question: string, lines: AsyncIterator<string>): Promise<string | undefined> {
  tell(question)
  const { done, value } = await lines.next()
  return done ? undefined : value
}
