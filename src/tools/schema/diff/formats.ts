/** A schema diff as text for a terminal, Markdown for a pull request, JSON for programs, and SARIF. */
import { markdownText, plainText, say } from '../../../present/phrase.ts'
import { type FindingRule, sarifRun, sarifText } from '../../../present/sarif.ts'
import { count, fittingRows, jsonText } from '../../../present/text.ts'
import { type CodeEntry, codeEntry as entry } from '../../check/check.ts'
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

// Every code of a schema diff. docs/changing-schemas.md lists them; a test compares it with this table.

const KEEP = 'Keep the old form beside the new one until no client needs it'
const CHECK = 'Run `sallyport data check`, and repair what it finds'
const POLICY = 'Change the policy together with the schemas'
const FREE = 'Nothing'

export const CHANGE_CODES: readonly CodeEntry[] = [
  entry('resource-removed', 'A resource is gone', KEEP),
  entry('resource-added', 'A resource is new', FREE),
  entry('route-removed', 'A path is gone', 'Redirect it with `moved`, or announce the end with `sunset`'),
  entry('route-added', 'A path is new', FREE),
  entry('method-removed', 'A path no longer accepts a method', KEEP),
  entry('method-added', 'A path accepts another method', FREE),
  entry('view-changed', 'A path shows another view, so it may show other fields', KEEP),
  entry('action-changed', 'Other rules decide about a path', 'Give the rules of the policy the new action'),
  entry('route-moved', 'A path has become a redirect, or leads elsewhere', KEEP),
  entry('route-retired', 'The deprecation or the sunset of a path has changed', FREE),
  entry('precondition-added', 'Writes need `If-Match` now', KEEP),
  entry('precondition-removed', 'Writes no longer need `If-Match`', FREE),
  entry('field-removed', 'A field is gone', KEEP),
  entry('field-added', 'A field is new', FREE),
  entry('field-read-only', 'Clients can no longer set a field', KEEP),
  entry('field-writable', 'Clients can set a field that only the server set', FREE),
  entry('filter-removed', 'Lists can no longer filter and sort by a field', 'Keep `x-index`'),
  entry('filter-added', 'Lists can filter and sort by a field', FREE),
  entry('unique-added', 'A second object with the same value is refused', KEEP),
  entry('unique-removed', 'Two objects may have the same value', FREE),
  entry('default-changed', 'An absent field gets another default, or none', FREE),
  entry('send-required', 'Clients must send a value that they could omit', 'Give the field a `default`'),
  entry('send-refused', 'Clients may send a member that is no longer accepted', KEEP),
  entry('send-narrowed', 'Clients may send a value that is no longer accepted', KEEP),
  entry('read-optional', 'Answers may lack a value that they always had', KEEP),
  entry('read-widened', 'Answers may have a value that clients could not meet before', KEEP),
  entry('data-removed', 'Stored objects may have a field that is gone', CHECK),
  entry('data-required', 'Stored objects may lack a value that is required now', CHECK),
  entry('data-unique', 'Stored objects may share a value that must be unique now', CHECK),
  entry('data-misfit', 'Stored objects may have a value that no longer fits', CHECK),
  entry('data-unreachable', 'No request reaches the stored objects of a removed resource', CHECK),
  entry('policy-error', 'The server would refuse the policy files with the new schemas', POLICY),
  entry('policy-warning', 'A warning of `policy check` is new with the new schemas', POLICY),
  entry('matrix-outdated', 'A matrix names what is gone', 'Change the matrix together with the schemas'),
]

/** As SARIF lists them. */
const CHANGE_RULES: readonly FindingRule[] = CHANGE_CODES.map((one) => ({ ...one, severity: 'error' }))
