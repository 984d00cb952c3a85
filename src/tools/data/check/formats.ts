/** A check of data as text for a terminal, and JSON for programs. */
import { printable, quote } from '../../../present/quote.ts'
import { count, jsonText, wrap } from '../../../present/text.ts'
import type { CheckedResource, DataFinding, DataReport, Unchecked } from './check-data.ts'

export const DATA_CHECK_FORMATS = { text: toText, json: toJson } as const

/** A paragraph for each resource, what was not checked, and the totals. */
function toText({ resources, findings, more, unchecked }: DataReport): string {
  const names = [
    ...new Set([...resources.map(({ resource }) => resource), ...findings.map(({ resource }) => resource)]),
  ]
  const paragraphs = names.map((name) => {
    const own = findings.filter(({ resource }) => resource === name)
    return [headOf(name, resources, own), ...own.flatMap(findingLines)].join('\n')
  })
  const rest = more === 0 ? [] : [`and ${count(more, 'more finding')}, for too many reasons to list; mend these first`]
  const whatNot = groupedUnchecked(unchecked)
  return `${[...paragraphs, ...rest, ...whatNot, summaryOf(resources, findings)].join('\n\n')}\n`
}

function headOf(name: string, resources: readonly CheckedResource[], findings: readonly DataFinding[]): string {
  const checked = resources.find(({ resource }) => resource === name)
  const objects = checked?.objects ?? findings.reduce((sum, one) => sum + one.objects, 0)
  return `${printable(name)}: ${count(objects, 'object')}${findings.length === 0 ? ', nothing found' : ''}`
}

function findingLines({ objects, message, code, ids, hint }: DataFinding): readonly string[] {
  const more = objects > ids.length ? ['…'] : []
  const named = ids.length === 0 ? [] : wrap([...ids.map(quote), ...more].join(', '), '')
  return [
    `  ${count(objects, 'object')}: ${printable(message)} [${code}]`,
    ...named.map((line) => `    ${line}`),
    `    = ${hint}`,
  ]
}

function groupedUnchecked(unchecked: readonly Unchecked[]): readonly string[] {
  const groups = Map.groupBy(unchecked, ({ what, why }) => `${what}: ${why}`)
  if (groups.size === 0) return []
  const lines = [...groups].map(([reason, some]) => {
    return `  ${printable(reason)} (${some.map(({ resource }) => resource).join(', ')})`
  })
  return [['not checked:', ...lines].join('\n')]
}

function summaryOf(resources: readonly CheckedResource[], findings: readonly DataFinding[]): string {
  const objects = resources.reduce((sum, one) => sum + one.objects, 0)
  if (findings.length === 0) return `${count(objects, 'object')} checked, nothing found`
  const faulty = resources.reduce((sum, one) => sum + one.faulty, 0)
  return `${count(objects, 'object')} checked, ${faulty} with findings`
}

/** The shape is docs/schemas/data-check.schema.json. */
function toJson(report: DataReport): string {
  return jsonText(report)
}
