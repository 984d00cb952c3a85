/** The mistakes in `g` lines of policy.csv: a role inherits too much, or no longer what it should. */
import type { Mutant, Source } from './mutant.ts'
import { linesOf, withLineMore, withoutLine } from './rule-edits.ts'
import type { Vocabulary } from './vocabulary.ts'

/** A circle of inheritance is made too: the parser refuses it. */
export function mutateLinks({ files }: Source, { roles }: Vocabulary): readonly Mutant[] {
  const links = linesOf(files).filter(({ cells }) => cells[0] === 'g')
  const linked = new Set(links.map(({ cells }) => `${cells[1]} ${cells[2]}`))
  const pairs = roles.flatMap((role) => roles.filter((other) => other !== role).map((other) => [role, other] as const))
  return [
    ...links.map((link) => withoutLine(files, 'drop-inheritance', link)),
    ...pairs
      .filter(([role, inherits]) => !linked.has(`${role} ${inherits}`))
      .map(([role, inherits]) => withLineMore(files, 'add-inheritance', ['g', role, inherits])),
  ]
}
