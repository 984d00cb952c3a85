/** The fields that an answer shows, according to the facts of its decision: then, and under another policy. */
import type { Facts } from '../../decide/evidence.ts'

/** For a list: the fields that some row may show and the query asks for; sorted. */
export function shownFields({ shown = [] }: Facts, { selected }: Facts): readonly string[] {
  return cut(shown, selected)
}

/** Whether the rows of a list may show different fields; also true if the facts don't show it. */
export function differsByRow(facts: Facts, asked: Facts): boolean {
  return cut(facts.everywhere ?? [], asked.selected).length < shownFields(facts, asked).length
}

function cut(fields: readonly string[], selected: readonly string[] | undefined): readonly string[] {
  return fields.filter((field) => !selected || selected.includes(field)).toSorted()
}
