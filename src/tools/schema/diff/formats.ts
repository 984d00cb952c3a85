/** A schema diff as text for a terminal, Markdown for a pull request, JSON for programs, and SARIF. */
import { markdownText, plainText, say } from '../../../present/phrase.ts'
import { sarifRun, sarifText } from '../../../present/sarif.ts'
import { count, fittingRows, jsonText } from '../../../present/text.ts'
import { CHANGE_RULES } from './codes.ts'
import {
  breakingCounts,
  CONCERNS,
  type Concern,
  type Effect,
  isBreaking,
  type SchemaChange,
  type SchemaDiff,
} from './schema-change.ts'

export const SCHEMA_DIFF_FORMATS = { text: toText, json: toJson, markdown: toMarkdown, sarif: toSarif } as const

const HEADINGS: Readonly<Record<Concern, string>> = {
  clients: 'Clients',
  data: 'Stored data',
  policies: 'Policies',
}
const SIGNS: Readonly<Record<Effect, string>> = { breaking: '!', unknown: '?', compatible: '+' }

/** One line for each change, with the place that says it. */
function toText(report: SchemaDiff): string {
  const { names, changes } = report
  const title = plainText(say`${names.before} -> ${names.after}`)
  const sections = CONCERNS.map((concern) => {
    const lines = changes.filter((change) => change.concern === concern).map(line)
    const shown = concern === 'data' ? [...lines, ...dataLines(report).map((text) => `    ${text}`)] : lines
    return [HEADINGS[concern], ...(shown.length === 0 ? ['    no change'] : shown)].join('\n')
  })
  return `${title}: ${summaryOf(report)}\n\n${sections.join('\n\n')}\n`
}

function line({ effect, sentence, resource, code, file, line: row, column }: SchemaChange): string {
  const about = resource === '' ? sentence : say`${resource}: ${sentence}`
  return `  ${SIGNS[effect]} ${plainText(about)} [${code}]\n      ${file}:${row}:${column}`
}

/** `always fit: notes, users`. */
function dataLines({ data }: SchemaDiff): readonly string[] {
  const named = (verdict: string) => [...data].filter(([, one]) => one === verdict).map(([name]) => name)
  const [fits, unknown] = [named('fits'), named('unknown')]
  return [
    ...(fits.length === 0 ? [] : [`stored objects always fit: ${fits.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`unknown, run sallyport data check: ${unknown.join(', ')}`]),
  ]
}

function summaryOf(report: SchemaDiff): string {
  const { clients, data, policies } = breakingCounts(report)
  if (clients + data + policies === 0) return 'nothing breaks'
  const about = `${count(clients, 'breaking change')} for clients`
  return `${about}, ${data} for stored data, ${policies} for policies`
}

/** The author of the files chooses the names, so they must stay plain text (phrase.ts). */
function toMarkdown(report: SchemaDiff): string {
  const { before, after } = report.names
  const title = `### Schema diff: ${markdownText(say`${before} → ${after}`)}\n\n${summaryOf(report)}\n`
  if (report.changes.length === 0) return title
  const rows = report.changes.map(({ concern, effect, resource, sentence, code }) => {
    const about = resource === '' ? sentence : say`${resource}: ${sentence}`
    return `| ${HEADINGS[concern]} | ${isBold(effect)} | ${markdownText(about)} | ${code} |`
  })
  const table = fittingRows(rows, (more) => `| | | and ${more} more, which \`sallyport schema diff\` shows | |`)
  return `${title}\n| for | effect | change | code |\n| --- | --- | --- | --- |\n${table}\n`
}

function isBold(effect: Effect): string {
  return effect === 'compatible' ? effect : `**${effect}**`
}

/** docs/schemas/schema-diff.schema.json fixes the shape. */
function toJson(report: SchemaDiff): string {
  const { names, changes, data } = report
  return jsonText({
    old: names.before,
    new: names.after,
    counts: breakingCounts(report),
    data: Object.fromEntries(data),
    changes: changes.map(({ sentence, ...change }) => ({ ...change, sentence: plainText(sentence) })),
  })
}

/** What breaks is an error, what may break is a warning, and the rest isn't listed. */
function toSarif({ changes }: SchemaDiff): string {
  const findings = changes.filter(isBreaking).map(({ file, line: row, column, code, effect, resource, sentence }) => ({
    file,
    line: row,
    column,
    code,
    severity: effect === 'breaking' ? ('error' as const) : ('warning' as const),
    message: plainText(resource === '' ? sentence : say`${resource}: ${sentence}`),
  }))
  return sarifText([sarifRun('schema diff', CHANGE_RULES, { findings, more: 0 })])
}
