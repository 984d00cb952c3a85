/** A diff as text for a terminal, Markdown for a pull request, and JSON for programs; page.ts makes a page. */

import {
  changeParts,
  changeSentence,
  type DecisionChange,
  type Direction,
  directionOf,
  type PolicyDifference,
  type ScopeList,
  type SettingChange,
} from '../../analysis/diff/change.ts'
import { countsOf, equivalence, type PolicyDiff } from '../../analysis/diff/compare-policies.ts'
import { DIRECTIONS, HEADINGS, SIGNS, sectionsOf } from '../../analysis/diff/directions.ts'
import { timeText } from '../../base/time.ts'
import { markdownText, type Phrase, plainText, say } from '../../present/phrase.ts'
import { fittingRows, jsonText, wrap } from '../../present/text.ts'
import { diffPage } from './page.ts'

export const DIFF_FORMATS = { text: toText, json: toJson, markdown: toMarkdown, html: diffPage } as const

/** Widening changes first; a change is one line if it fits. */
function toText(report: PolicyDiff): string {
  const { before, after } = report.names
  const title = plainText(say`${before} -> ${after}`)
  const same = equivalence(report)
  if (same !== undefined) return `${title}\n${same}\n`
  const byDirection = Map.groupBy(report.changes, directionOf)
  const sections = DIRECTIONS.flatMap((direction) => {
    const changes = byDirection.get(direction)
    if (!changes) return []
    return [[HEADINGS[direction], ...changes.flatMap((change) => changeLines(direction, change))].join('\n')]
  })
  return `${title}: ${summaryOf(report)}\n\n${sections.join('\n\n')}\n`
}

/** A longer change is broken between words; a long list of terms has a line for each stored object. */
function changeLines(direction: Direction, change: PolicyDifference): readonly string[] {
  const { sentence, scope } = changeParts(change)
  const lines = (phrase: Phrase) => wrap(`${SIGNS[direction]} ${plainText(phrase)}`, '    ').map((line) => `  ${line}`)
  const whole = lines(changeSentence(change))
  return whole.length === 1 || scope.length === 0 ? whole : [...lines(sentence), ...scope.flatMap(scopeLines)]
}

function scopeLines({ label, terms }: ScopeList): readonly string[] {
  const lines = terms.flatMap((term) => wrap(plainText(term)))
  return lines.map((line, i) => `      ${(i === 0 ? label : '').padEnd(6)}${line}`)
}

/** `2 widening, 1 narrowing`. */
function summaryOf(report: PolicyDiff): string {
  const counts = countsOf(report)
  return DIRECTIONS.flatMap((direction) => (counts[direction] === 0 ? [] : [`${counts[direction]} ${direction}`])).join(
    ', ',
  )
}

/** The author of the files chooses the names, so they must stay plain text (phrase.ts). */
function toMarkdown(report: PolicyDiff): string {
  const { before, after } = report.names
  const title = `### Policy diff: ${markdownText(say`${before} → ${after}`)}`
  const same = equivalence(report)
  if (same !== undefined) return `${title}\n\n${same}\n`
  const rows = sectionsOf(report).flatMap(({ direction, sentences }) =>
    sentences.map((sentence) => `| **${direction}** | ${markdownText(sentence)} |`),
  )
  const shown = fittingRows(rows, (more) => `| | and ${more} more, which \`sallyport policy diff\` shows |`)
  return `${title}\n\n${summaryOf(report)}\n\n| direction | change |\n| --- | --- |\n${shown}\n`
}

/** docs/schemas/policy-diff.schema.json fixes the shape. */
function toJson(report: PolicyDiff): string {
  const { names, sameText, changes } = report
  const json = {
    old: names.before,
    new: names.after,
    equivalent: changes.length === 0,
    sameText,
    counts: countsOf(report),
    changes: changes.map(changeJson),
  }
  return jsonText(json)
}

function changeJson(change: PolicyDifference) {
  const common = { kind: change.kind, direction: directionOf(change), sentence: plainText(changeSentence(change)) }
  return { ...common, ...(change.kind === 'decision' ? decisionJson(change) : settingJson(change)) }
}

function decisionJson(change: DecisionChange) {
  const { effect, callers, unchanged, part, resources, actions, fields, scope, from, until } = change
  const what = { effect, callers, unchanged, part, resources, actions, fields: fields ?? null, scope: scope ?? null }
  return { ...what, from: momentJson(from), until: momentJson(until) }
}

function momentJson(moment: number | undefined): string | null {
  return moment === undefined ? null : timeText(moment)
}

function settingJson({ name, resource, before, after }: SettingChange) {
  return { name, ...(resource === undefined ? {} : { resource }), before, after }
}
