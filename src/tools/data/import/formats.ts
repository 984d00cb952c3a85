/** The report of an import as text for a terminal, and JSON for programs. */
import { printable } from '../../../present/quote.ts'
import { count, jsonText } from '../../../present/text.ts'
import type { ImportReport, RefusedLine } from './import-data.ts'

export const IMPORT_FORMATS = {
  text: toText,
  /** The shape is docs/schemas/data-import.schema.json. */
  json: jsonText,
} as const

function toText(report: ImportReport): string {
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
  return `${lines.map(printable).join('\n')}\n`
}

function refusedText({ line, resource, status, code, why }: RefusedLine): string {
  const answer = [status, code].filter((part) => part !== undefined).join(' ')
  return `line ${line}: ${resource}: ${answer === '' ? 'not sent' : answer}: ${why}`
}

function stoppedText({ line, why }: NonNullable<ImportReport['stopped']>): string {
  return `stopped at line ${line}: ${why}. Within 24 hours, the same command writes the rest, and no line twice`
}
