/** The text of policy.csv without some grants, with the evidence as comments. */
import type { SourceFile } from '../../base/diagnostic.ts'
import { readRuleLines } from '../../policy/parse/rule-lines.ts'
import { withCells } from '../matrix/mutate/mutants.ts'
import { type GrantPart, lineWithout } from './parts.ts'

/** Columns of a `p` line. */
const ACTIONS = 3
const VIEWS = 5

/** `evidence`: a sentence about each grant, without a period. Lines that stay keep their text. */
export function trimmedText(source: SourceFile, removed: readonly GrantPart[], evidence: string): string {
  const cells = new Map([...readRuleLines(source, () => undefined)].map((one) => [one.line, one.cells]))
  const byLine = Map.groupBy(removed, ({ of }) => of.line)
  const written: string[] = []
  for (const [i, text] of source.text.split('\n').entries()) {
    const grants = byLine.get(i + 1) ?? []
    const [first] = grants
    // A `check-ignore` stands right above its line, and goes with it.
    const suppressed = first && SUPPRESSION.test(written.at(-1) ?? '') ? [written.pop() ?? ''] : []
    const left = first && lineWithout(first.of, grants)
    if (!first) written.push(text)
    else if (!left) written.push(`# removed: ${evidence}`, `# ${text.trim()}`)
    else {
      const names = grants.map(({ kind, name }) => `${kind} ${name}`).join(', ')
      const changed = (cells.get(i + 1) ?? []).with(ACTIONS, left.actions.join('|')).with(VIEWS, left.views.join('|'))
      written.push(`# narrowed by ${names}: ${evidence}`, ...suppressed, withCells(changed))
    }
  }
  return written.join('\n')
}

const SUPPRESSION = /^\s*#\s*check-ignore\b/
