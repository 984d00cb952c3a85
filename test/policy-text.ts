/** More lines for a policy.csv: before its last line `# end of policy`, after which no rule may stand. */
import { readFile, writeFile } from 'node:fs/promises'
import { placeForRules } from '../src/policy/parse/rule-lines.ts'

/** `lines`: one or more, with or without a line break at the end. */
export function withRules(text: string, lines: string): string {
  const at = placeForRules(text)
  const before = text.slice(0, at)
  const ended = before === '' || before.endsWith('\n') ? before : `${before}\n`
  return `${ended}${lines.endsWith('\n') ? lines : `${lines}\n`}${text.slice(at)}`
}

export async function addRules(file: string, lines: string): Promise<void> {
  await writeFile(file, withRules(await readFile(file, 'utf8'), lines))
}
