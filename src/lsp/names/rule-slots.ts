/** The names in policy.csv. */
import type { SourceFile } from '../../base/diagnostic.ts'
import { type RuleLine, readRuleLines } from '../../policy/parse/rule-lines.ts'
import { coveredResources, SCOPE_COLUMN } from '../../policy/parse/rule-scope.ts'
import type { Resources } from '../../resources/resource.ts'
import { type NameSlot, slotsIn } from './name-slot.ts'

/** Between the names of a relation column. */
export const BETWEEN_TERMS = /[+>]/g

const MOST_COLUMNS = 8

export function slotsOfRules(source: SourceFile, resources: Resources): readonly NameSlot[] {
  const starts = [0, ...Array.from(source.text.matchAll(/\n/g), ({ index }) => index + 1)]
  return [...readRuleLines(source, () => undefined)].flatMap((line) =>
    slotsOfLine(line, source.text, starts, resources),
  )
}

function slotsOfLine(
  { line, cells, placeOf }: RuleLine,
  text: string,
  starts: readonly number[],
  resources: Resources,
): readonly NameSlot[] {
  const [kind = '', , resource = ''] = cells
  const about = kind === 'p' ? coveredResources(resource, resources).map(({ name }) => name) : []
  // A line has no more columns, and to find the place of each cell of a million would take hours.
  return cells.slice(0, MOST_COLUMNS).flatMap((cell, at) => {
    const begin = (starts[line - 1] ?? 0) + placeOf(at).column - 1
    const start = text[begin] === '"' ? begin + 1 : begin
    return slotsOfCell(kind, at, (separator, meaning) => slotsIn(cell, start, separator, { ...meaning, about }))
  })
}

type SlotsOf = (separator: RegExp | undefined, meaning: Parameters<typeof slotsIn>[3]) => readonly NameSlot[]

function slotsOfCell(kind: string, column: number, slots: SlotsOf): readonly NameSlot[] {
  if (column === 0) return slots(undefined, { words: ['p', 'g'] })
  if (kind === 'g') return slots(undefined, { kinds: ['role'] })
  switch (column) {
    case SCOPE_COLUMN.subject:
      return slots(undefined, { kinds: ['role'], words: ['everyone', 'anonymous', 'user:'] })
    case SCOPE_COLUMN.resource:
      return slots(undefined, { kinds: ['resource'], words: ['*', 'system/*'] })
    case SCOPE_COLUMN.action:
      return slots(/\|/g, { kinds: ['action'], words: ['*'] })
    case SCOPE_COLUMN.relation:
      return slots(BETWEEN_TERMS, { kinds: ['relation', 'condition'], words: ['any'] })
    case SCOPE_COLUMN.fields:
      return slots(/\|/g, { kinds: ['view'], words: ['*'] })
    case SCOPE_COLUMN.effect:
      return slots(undefined, { words: ['allow', 'deny'] })
    default:
      return slots(undefined, { words: ['until='] })
  }
}
