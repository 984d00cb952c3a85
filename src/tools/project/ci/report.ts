/** The steps as Markdown, for one comment of a pull request and for the summary of the job. */
import { markdownText, say } from '../../../present/phrase.ts'
import { markdownTable } from '../../../present/report.ts'
import { type JobStep, STEPS } from './steps.ts'

/** In characters. GitHub takes 65,536. */
const MOST_CHARACTERS = 65_000
const MOST_FINDINGS = 20

const IN_LOG = { where: 'the log of the job has', column: 1 }
const OUTCOMES = ['passed', '**failed**', '**could not run**'] as const

export function jobReport(steps: readonly JobStep[], title: string): string {
  const rows = steps.map(({ name, code, result }) => [STEPS[name], OUTCOMES[code], wordsOf(result)])
  const parts = [
    ...brokenGuarantees(steps),
    `### ${title}`,
    markdownTable({ head: ['step', 'outcome', 'result'], rows, more: IN_LOG }),
    ...steps.filter(({ findings }) => findings.length > 0).map(findingsOf),
    ...steps.flatMap(({ markdown }) => (markdown ? [markdown.trimEnd()] : [])),
  ]
  return fitted(`${parts.join('\n\n')}\n`)
}

/** Before everything else: with these files, no server starts. */
function brokenGuarantees(steps: readonly JobStep[]): readonly string[] {
  const broken = steps.flatMap(({ findings }) => findings.filter(({ code }) => BREAKS.has(code)))
  const shown = broken.slice(0, MOST_FINDINGS).map(({ message }) => `**Not as guaranteed:** ${wordsOf(message)}`)
  return broken.length > shown.length ? [...shown, `and ${broken.length - shown.length} more`] : shown
}

const BREAKS: ReadonlySet<string> = new Set(['guarantee-broken', 'guarantee-undecided'])

function findingsOf({ name, findings }: JobStep): string {
  const rows = findings.map(({ file, line, message, hint }) => {
    return [markdownText(say`${`${file}:${line}`}`), wordsOf(hint ? `${message} (${hint})` : message)]
  })
  return markdownTable({ head: [STEPS[name], 'finding'], rows, more: IN_LOG }, MOST_FINDINGS)
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
