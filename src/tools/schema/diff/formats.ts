/** A schema diff as a report: the changes that concern clients, stored data and policies. */
import { markdownText, type Phrase, plainText, say } from '../../../present/phrase.ts'
import { formatsOf, type Paragraph } from '../../../present/report.ts'
import { type FindingRule, sarifRun } from '../../../present/sarif.ts'
import { count } from '../../../present/text.ts'
import {
  breakingCounts,
  type ChangeEffect,
  CONCERNS,
  type Concern,
  isBreaking,
  type SchemaChange,
  type SchemaDiff,
} from './schema-change.ts'

const HEADINGS: Readonly<Record<Concern, string>> = {
  clients: 'Clients',
  data: 'Stored data',
  policies: 'Policies',
}
const SIGNS: Readonly<Record<ChangeEffect, string>> = { breaking: '!', unknown: '?', compatible: '+' }

export const SCHEMA_DIFF_FORMATS = formatsOf((diff: SchemaDiff) => {
  const { names, changes, data } = diff
  const summary = summaryOf(diff)
  return {
    text: () => {
      const title = plainText(say`${names.before} -> ${names.after}`)
      return [[`${title}: ${summary}`], ...CONCERNS.map((concern) => concernLines(concern, diff))]
    },
    markdown: () => {
      const rows = changes.map((change) => {
        const effect = change.effect === 'compatible' ? change.effect : `**${change.effect}**`
        return [HEADINGS[change.concern], effect, markdownText(aboutOf(change)), change.code]
      })
      const more = { where: '`sallyport schema diff` shows', column: 2 }
      // The author of the files chooses the names, so they must stay plain text (phrase.ts).
      const title = `Schema diff: ${markdownText(say`${names.before} → ${names.after}`)}`
      return { title, summary, table: { head: ['for', 'effect', 'change', 'code'], rows, more } }
    },
    /** docs/schemas/schema-diff.schema.json fixes the shape. */
    json: () => {
      const listed = changes.map(({ sentence, ...change }) => ({ ...change, sentence: plainText(sentence) }))
      const counts = breakingCounts(diff)
      return { old: names.before, new: names.after, counts, data: Object.fromEntries(data), changes: listed }
    },
    /** What breaks is an error, what may break is a warning, and the rest isn't listed. */
    sarif: () => {
      const findings = changes.filter(isBreaking).map((change) => {
        const { file, line, column, code, effect } = change
        const severity = effect === 'breaking' ? ('error' as const) : ('warning' as const)
        return { file, line, column, code, severity, message: plainText(aboutOf(change)) }
      })
      return [sarifRun('schema diff', CHANGE_CODES, { findings, more: 0 })]
    },
  }
})

function aboutOf({ resource, sentence }: SchemaChange): Phrase {
  return resource === '' ? sentence : say`${resource}: ${sentence}`
}

/** One line for each change, with the place that says it. */
function concernLines(concern: Concern, { changes, data }: SchemaDiff): Paragraph {
  const lines = changes.flatMap((change) => {
    const { effect, code, file, line, column } = change
    if (change.concern !== concern) return []
    return [`  ${SIGNS[effect]} ${plainText(aboutOf(change))} [${code}]`, `      ${file}:${line}:${column}`]
  })
  const named = (verdict: string) => [...data].filter(([, one]) => one === verdict).map(([name]) => name)
  const [fits, unknown] = concern === 'data' ? [named('fits'), named('unknown')] : [[], []]
  const shown = [
    ...lines,
    ...(fits.length === 0 ? [] : [`    stored objects always fit: ${fits.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`    unknown, run sallyport data check: ${unknown.join(', ')}`]),
  ]
  return [HEADINGS[concern], ...(shown.length === 0 ? ['    no change'] : shown)]
}

function summaryOf(diff: SchemaDiff): string {
  const { clients, data, policies } = breakingCounts(diff)
  if (clients + data + policies === 0) return 'nothing breaks'
  const about = `${count(clients, 'breaking change')} for clients`
  return `${about}, ${data} for stored data, ${policies} for policies`
}

// Every code of a schema diff. docs/changing-schemas.md lists them; a test compares it with this table.

const KEEP = 'Keep the old form beside the new one until no client needs it'
const CHECK = 'Run `sallyport data check`, and repair what it finds'
const POLICY = 'Change the policy together with the schemas'
const FREE = 'Nothing'

export const CHANGE_CODES: readonly FindingRule[] = [
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
  entry('command-changed', 'A command has other steps, another input, or other rights', KEEP),
  entry('history-changed', 'Versions of objects are kept for another time', 'Keep them as long as before'),
  entry(
    'events-changed',
    'Events are kept for another time, or a path is no longer a stream of them',
    'Keep them as long as before',
  ),
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
  entry('reference-added', 'A field may name only stored objects of a resource', KEEP),
  entry('reference-removed', 'A field may name any object, also one that there is not', FREE),
  entry('reference-changed', 'A delete does something else with the objects that refer to the deleted one', KEEP),
  entry('default-changed', 'An absent field gets another default, or none', FREE),
  entry('send-required', 'Clients must send a value that they could omit', 'Give the field a `default`'),
  entry('send-refused', 'Clients may send a member that is no longer accepted', KEEP),
  entry('send-narrowed', 'Clients may send a value that is no longer accepted', KEEP),
  entry('read-optional', 'Answers may lack a value that they always had', KEEP),
  entry('read-widened', 'Answers may have a value that clients could not meet before', KEEP),
  entry('data-removed', 'Stored objects may have a field that is gone', CHECK),
  entry('data-required', 'Stored objects may lack a value that is required now', CHECK),
  entry('data-unique', 'Stored objects may share a value that must be unique now', CHECK),
  entry('data-reference', 'Stored objects may name objects that there are not', CHECK),
  entry('data-misfit', 'Stored objects may have a value that no longer fits', CHECK),
  entry('data-unreachable', 'No request reaches the stored objects of a removed resource', CHECK),
  entry('policy-error', 'The server would refuse the policy files with the new schemas', POLICY),
  entry('policy-warning', 'A warning of `policy check` is new with the new schemas', POLICY),
  entry('matrix-outdated', 'A matrix names what is gone', 'Change the matrix together with the schemas'),
]

function entry(code: string, meaning: string, fix: string): FindingRule {
  return { code, severity: 'error', meaning, fix }
}
