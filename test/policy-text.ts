/** Other texts of a policy.csv: with more lines (before its last line `# end of policy`), or without steps of orders. */

import { readFile, writeFile } from 'node:fs/promises'
import type { Rule } from '../src/decide/policy.ts'
import { placeForRules } from '../src/policy/parse/rule-lines.ts'
import type { LoadedPolicy } from '../src/tools/load-policy.ts'

/** `lines`: one or more, with or without a line break at the end. */
export function withRules(text: string, lines: string): string {
  const at = placeForRules(text)
  const before = text.slice(0, at)
  const ended = before === '' || before.endsWith('\n') ? before : `${before}\n`
  return `${ended}${lines.endsWith('\n') ? lines : `${lines}\n`}${text.slice(at)}`
}

/** The shipped rules, but for orders: whoever may change a field of an order may give it any value. */
export function withoutSteps(text: string): string {
  return text
    .replace(
      /^p, member, orders, +replace\|update, +owner\+draft>draft, .*$/m,
      'p, member, orders, replace|update, owner+draft, *, allow',
    )
    .replace(/^p, member, orders, +replace\|update, +owner\+draft>placed, .*\n/m, '')
    .replace(/^p, support, orders, update, +placed>shipped, .*$/m, 'p, support, orders, update, any, progress, allow')
    .replace(/^p, support, orders, update, +open>cancelled, .*\n/m, '')
    .replaceAll(/^p, support, orders, (?:ship|cancel), .*\n/gm, '')
}

/** The shipped ownership.yaml with one state of orders, `draft`: what `withoutSteps` needs. */
export function withoutStates(text: string): string {
  return text.replaceAll(/^ +(?:placed|shipped|cancelled|open): \{ field: status, .*\n/gm, '')
}

export async function addRules(file: string, lines: string): Promise<void> {
  await writeFile(file, withRules(await readFile(file, 'utf8'), lines))
}

/** Loaded files with other rules: they aren't the files of the same revision. */
export function ruledBy(loaded: LoadedPolicy, rules: readonly Rule[]): LoadedPolicy {
  const { name, text } = loaded.files['policy.csv']
  const files = { ...loaded.files, 'policy.csv': { name, text: `${text}# other rules\n` } }
  return { ...loaded, files, policy: { ...loaded.policy, rules } }
}
