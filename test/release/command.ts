/** `sallyport policy …`, within this process, or as `program` starts it. */
import { type Ended, ROOT, sallyport } from '../command.ts'
import { ranIn } from '../project/projects.ts'

export type { Ended }

/** These try all matrices that they find: 2,900 cells of this repository, half a second of CPU each time. */
const TRYING: ReadonlySet<string | undefined> = new Set(['propose', 'review'])
const NO_MATRICES = ['--matrices', 'no-matrices']

/** A proposal and its review try the matrices that `words` name, and no others. */
export function policy(
  words: readonly string[],
  env: Record<string, string>,
  program: readonly string[] = [],
): Promise<Ended> {
  const args = TRYING.has(words[0]) && !words.includes('--matrices') ? [...words, ...NO_MATRICES] : words
  if (program.length === 0) return sallyport(['policy', ...args], { env })
  return ranIn(ROOT, { ...process.env, ...env }, [...program, 'policy', ...args])
}
