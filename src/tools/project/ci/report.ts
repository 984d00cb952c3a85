/** The steps as Markdown, for one comment of a pull request and for the summary of the job. */
import type { Diagnostic } from '../../../base/diagnostic.ts'
import { markdownText, say } from '../../../present/phrase.ts'
import { type JobStep, STEPS } from './steps.ts'

/** In characters. GitHub takes 65,536. */
const MOST_CHARACTERS = 65_000
const MOST_FINDINGS = 20

const OUTCOMES = ['passed', '**failed**', '**could not run**'] as const

export function jobReport(steps: readonly JobStep[], title: string): string {
  const rows = steps.map(({ name, code, result }) => `| ${STEPS[name]} | ${OUTCOMES[code]} | ${wordsOf(result)} |`)
  const parts = [
    `### ${title}`,
    ['| step | outcome | result |', '| --- | --- | --- |', ...rows].join('\n'),
    ...steps.filter(({ findings }) => findings.length > 0).map(findingsOf),
    ...steps.flatMap(({ markdown }) => (markdown ? [markdown.trimEnd()] : [])),
  ]
  return fitted(`${parts.join('\n\n')}\n`)
}

function findingsOf({ name, findings }: JobStep): string {
  const rows = findings.slice(0, MOST_FINDINGS).map(rowOf)
  const more = findings.length - rows.length
  const table = [`| ${STEPS[name]} | finding |`, '| --- | --- |', ...rows]
  return [...table, ...(more > 0 ? [`| | and ${more} more, which the log of the job has |`] : [])].join('\n')
}

function rowOf({ file, line, message, hint }: Diagnostic): string {
  return `| ${markdownText(say`${`${file}:${line}`}`)} | ${wordsOf(hint ? `${message} (${hint})` : message)} |`
}

/** Words of files may look like anything, so they are shown as code. A long one would push the others out. */
function wordsOf(text: string): string {
  return markdownText(say`${text.length > 300 ? `${text.slice(0, 300)}…` : text}`)
}

/** Cut at the end of a line, so that no table and no markup stays open. */
export function fitted(text: string, most = MOST_CHARACTERS): string {
  if (text.length <= most) return text
  const kept = text.slice(0, most - 200)
  return (
    `${kept.slice(0, kept.lastIndexOf('\n'))}\n\n` +
    'The rest is cut, because a comment can have at most 65,536 characters; the log of the job has all of it.\n'
  )
}
