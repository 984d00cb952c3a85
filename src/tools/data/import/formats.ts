/** An import as a report. */
import { printable } from '../../../present/quote.ts'
import { formatsOf, type Paragraph } from '../../../present/report.ts'
import { count } from '../../../present/text.ts'
import type { ImportReport, RefusedLine } from './import-data.ts'

export const IMPORT_FORMATS = formatsOf((report: ImportReport) => ({
  text: () => [linesOf(report)],
  /** The shape is docs/schemas/data-import.schema.json. */
  json: () => report,
}))

function linesOf(report: ImportReport): Paragraph {
  const { rows, written, writtenBefore, writtenLines, refused, refusedLines, stopped } = report
  const unlisted = refused - refusedLines.length
  const lines = [
    ...refusedLines.map(refusedText),
    ...(unlisted > 0 ? [`and ${count(unlisted, 'more line')} refused`] : []),
    `${count(rows, 'row')}: ${written} written, ${refused} refused`,
    ...(writtenBefore > 0 ? [`${writtenBefore} were written by an earlier run, and not again`] : []),
    ...(writtenLines.length > 0 ? [`lines that are written: ${writtenLines.join(', ')}`] : []),
    ...(stopped ? [stoppedText(stopped)] : []),
  ]
  return lines.map(printable)
}

function refusedText({ line, resource, status, code, why }: RefusedLine): string {
  const answer = [status, code].filter((part) => part !== undefined).join(' ')
  return `line ${line}: ${resource}: ${answer === '' ? 'not sent' : answer}: ${why}`
}

function stoppedText({ line, why }: NonNullable<ImportReport['stopped']>): string {
  return `stopped at line ${line}: ${why}. Within 24 hours, the same command writes the rest, and no line twice`
}
