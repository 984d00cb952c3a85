/** A check of data as a report: the findings by resource. */
import { printable, quote } from '../../../present/quote.ts'
import { formatsOf, section } from '../../../present/report.ts'
import { count, wrap } from '../../../present/text.ts'
import type { CheckedResource, DataReport, Unchecked } from './check-data.ts'
import type { DataFinding } from './findings.ts'

export const DATA_CHECK_FORMATS = formatsOf((report: DataReport) => ({
  /** A paragraph for each resource, what was not checked, and the totals. */
  text: () => {
    const { resources, findings, more, unchecked } = report
    const names = new Set([...resources, ...findings].map(({ resource }) => resource))
    const paragraphs = [...names].map((name) => {
      const own = findings.filter(({ resource }) => resource === name)
      return [headOf(name, resources, own), ...own.flatMap(findingLines)]
    })
    const rest = more === 0 ? [] : [`and ${count(more, 'more finding')}, for too many reasons to list; fix these first`]
    return [...paragraphs, rest, section('not checked:', uncheckedLines(unchecked)), [summaryOf(resources, findings)]]
  },
  /** The shape is docs/schemas/data-check.schema.json. */
  json: () => report,
}))

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

function uncheckedLines(unchecked: readonly Unchecked[]): readonly string[] {
  const groups = Map.groupBy(unchecked, ({ what, why }) => `${what}: ${why}`)
  return [...groups].map(
    ([reason, some]) => `${printable(reason)} (${some.map(({ resource }) => resource).join(', ')})`,
  )
}

function summaryOf(resources: readonly CheckedResource[], findings: readonly DataFinding[]): string {
  const objects = resources.reduce((sum, one) => sum + one.objects, 0)
  if (findings.length === 0) return `${count(objects, 'object')} checked, nothing found`
  const faulty = resources.reduce((sum, one) => sum + one.faulty, 0)
  return `${count(objects, 'object')} checked, ${faulty} with findings`
}
