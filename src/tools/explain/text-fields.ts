/** The fields of an explanation in words: once where all cases agree, else case by case. */

import { wrap } from '../../present/text-layout.ts'
import type { Case, Explanation, FieldReport } from './explanation.ts'
import { caseLabel } from './text-cases.ts'

export function fieldLines(explanation: Explanation): readonly string[] {
  const reports = Map.groupBy(
    explanation.cases.toReversed().filter(({ fields }) => fields !== null),
    ({ fields }) => JSON.stringify(fields),
  )
  const label = (some: readonly Case[]) => some.map((one) => caseLabel(one, explanation)).join('; ')
  const refusal = explanation.caller.anonymous ? 401 : 403
  return [...reports.values()].flatMap((some) => {
    const fields = some[0]?.fields
    if (!fields) return []
    return reports.size === 1
      ? reportLines(fields, refusal)
      : [`${label(some)}:`, ...reportLines(fields, refusal).map((line) => `  ${line}`)]
  })
}

function reportLines(fields: FieldReport, refusal: number): readonly string[] {
  const { shown, notShown, cut, writable, notWritable, server, queryable } = fields
  const lines = [
    ...(writable ? [line('may be written', writable, notWritable)] : []),
    line('set by the server', server),
    line(`refused in a body (${refusal})`, notWritable),
    line(writable ? 'the answer shows' : 'shown', shown, [...notShown, ...cut], 'nothing'),
    line(writable ? 'the answer does not show' : 'not shown', notShown),
    line('granted, but not part of what this path shows', cut),
    ...(queryable ? [line('may be filtered and sorted by', queryable, undefined, 'nothing')] : []),
  ]
  return lines.flatMap((text) => (text === undefined ? [] : wrap(text)))
}

/** Nothing is said of no fields, unless `none` says how; all of them are not listed. */
function line(label: string, names: readonly string[], others?: readonly string[], none?: string): string | undefined {
  if (names.length === 0) return none === undefined ? undefined : `${label}: ${none}`
  return `${label}: ${others?.length === 0 ? 'all fields' : names.join(', ')}`
}
