/** The mistakes in the relation column of a rule: `owner+!draft>placed`. */
import { COLUMN, type RuleCells, withCell } from './edits.ts'
import type { Mutant, Operator, Source } from './mutants.ts'

export function mutateTerms({ files }: Source, rule: RuleCells): readonly Mutant[] {
  const column = rule.cells[COLUMN.relations] ?? ''
  const edits: readonly (readonly [Operator, readonly string[]])[] = [
    ['any-object', column === ANY ? [] : [ANY]],
    ['drop-relation', eachSide(column, withoutEach)],
    ['flip-term', eachSide(column, flippedEach)],
    ['drop-result', column.includes('>') ? [column.split('>')[0] ?? ANY] : []],
  ]
  return edits.flatMap(([operator, texts]) =>
    texts.map((to) => withCell(files, operator, rule, { column: COLUMN.relations, to })),
  )
}

const ANY = 'any'

/** The columns in which one side is another one. */
function eachSide(column: string, change: (terms: readonly string[]) => readonly string[]): readonly string[] {
  const sides = column.split('>')
  return sides.flatMap((side, i) => {
    const terms = side.split('+').map((term) => term.trim())
    return terms[0] === ANY ? [] : change(terms).map((changed) => sides.with(i, changed).join('>'))
  })
}

/** A side without terms would be `any`: `any-object` and `drop-result` do that. */
function withoutEach(terms: readonly string[]): readonly string[] {
  return terms.length < 2 ? [] : terms.map((_, i) => terms.toSpliced(i, 1).join('+'))
}

function flippedEach(terms: readonly string[]): readonly string[] {
  return terms.map((term, i) => terms.with(i, term.startsWith('!') ? term.slice(1) : `!${term}`).join('+'))
}
