/** A policy diff as a report: the changes by direction, widening ones first. */
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
import {
  countsOf,
  DIRECTIONS,
  type DirectionSection,
  equivalence,
  HEADINGS,
  type PolicyDiff,
  SIGNS,
  sectionsOf,
} from '../../analysis/diff/compare-policies.ts'
import { timeText } from '../../base/time.ts'
import { type Html, html } from '../../present/html.ts'
import { chooserHtml, keyHtml, type Page, phraseHtml } from '../../present/page.ts'
import { markdownText, type Phrase, plainText, say } from '../../present/phrase.ts'
import { formatsOf, type Paragraph } from '../../present/report.ts'
import { wrap } from '../../present/text.ts'
import type { MeaningOfLine } from './line-meanings.ts'

/** `lines`: where they were asked for. */
type ToldDiff = PolicyDiff & { readonly lines?: readonly MeaningOfLine[] }

export const DIFF_FORMATS = formatsOf((diff: ToldDiff) => {
  const { names, sameText, changes, refusals } = diff
  const refused = refusals.map(({ said }) => said)
  const counts = countsOf(diff)
  const same = equivalence(diff)
  const summary = same ?? DIRECTIONS.flatMap((one) => (counts[one] === 0 ? [] : [`${counts[one]} ${one}`])).join(', ')
  const sections = sectionsOf(diff)
  return {
    text: () => {
      const title = plainText(say`${names.before} -> ${names.after}`)
      return same === undefined
        ? [[`${title}: ${summary}`], refusedLines(refused), ...sections.map(sectionLines)]
        : [[title, same]]
    },
    markdown: () => {
      const rows = sections.flatMap((section) =>
        section.changes.map((one) => [`**${section.direction}**`, markdownText(changeSentence(one))]),
      )
      const more = { where: '`sallyport policy diff` shows', column: 1 }
      // The author of the files chooses the names, so they must stay plain text (phrase.ts).
      const title = `Policy diff: ${markdownText(say`${names.before} → ${names.after}`)}`
      const refusedRows = refused.map((said) => ['**refused**', markdownText(said)])
      return { title, summary, table: { head: ['direction', 'change'], rows: [...refusedRows, ...rows], more } }
    },
    /** docs/schemas/policy-diff.schema.json fixes the shape. */
    json: () => {
      const { before, after } = names
      const head = { old: before, new: after, equivalent: changes.length === 0, sameText, counts }
      const told = { ...head, refused: refused.map(plainText), changes: changes.map(changeJson) }
      return diff.lines ? { ...told, lines: diff.lines } : told
    },
    html: (): Page => {
      const key = (direction: Direction) => `${SIGNS[direction]} ${direction}`
      const choices = DIRECTIONS.map((one) => [one, `${one} only (${counts[one]})`] as const)
      return {
        heading: 'Policy diff',
        layout: 'report',
        about: html`<p>${phraseHtml(say`${names.before} → ${names.after}`)}</p>`,
        legend: DIRECTIONS.map((one) => {
          return { meaning: one, example: key(one), text: HEADINGS[one].replace(/^.*?: /, ''), count: counts[one] }
        }),
        filters: html`<div class="filters">${chooserHtml('Show', 'show', [['all', 'all changes'], ...choices])}</div>`,
        main: same === undefined ? html`${refusedHtml(refused)}${sections.map(sectionHtml)}` : html`<p>${same}</p>`,
      }
    },
  }
})

const REFUSED = 'Refused: nothing puts this version in force'

function refusedLines(refused: readonly Phrase[]): Paragraph {
  return refused.length === 0
    ? []
    : [REFUSED, ...refused.flatMap((one) => wrap(`! ${plainText(one)}`, '    ').map((line) => `  ${line}`))]
}

function refusedHtml(refused: readonly Phrase[]): Html {
  return refused.length === 0
    ? html``
    : html`<section><h2>${REFUSED}</h2>${refused.map((one) => html`<p>${phraseHtml(one)}</p>`)}</section>`
}

function sectionLines({ heading, direction, changes }: DirectionSection): Paragraph {
  return changes.length === 0 ? [] : [heading, ...changes.flatMap((one) => changeLines(direction, one))]
}

/** One line if it fits. A longer change is broken between words; a long list of terms has a line for each object. */
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

function sectionHtml({ heading, direction, changes }: DirectionSection): Html {
  if (changes.length === 0) return html``
  const key = keyHtml(direction, `${SIGNS[direction]} ${direction}`)
  const items = changes.map((change) => html`<li>${key}<div>${changeHtml(change)}</div></li>\n`)
  return html`<section class="of-${direction}"><h2>${heading}</h2>
<ul class="changes">
${items}</ul></section>
`
}

function changeHtml(change: PolicyDifference): Html {
  const { sentence, scope } = changeParts(change)
  const lists = scope.map(({ label, terms }) => {
    return html`<dt>${label}</dt>${terms.map((term) => html`<dd>${phraseHtml(term)}</dd>`)}`
  })
  return html`<p>${phraseHtml(sentence)}</p>${lists.length > 0 && html`<dl class="scope">${lists}</dl>`}`
}

function changeJson(change: PolicyDifference) {
  const common = { kind: change.kind, direction: directionOf(change), sentence: plainText(changeSentence(change)) }
  return { ...common, ...(change.kind === 'decision' ? decisionJson(change) : settingJson(change)) }
}

function decisionJson(change: DecisionChange) {
  const { effect, callers, unchanged, part, resources, actions, fields, scope, from, until } = change
  const what = { effect, callers, unchanged, part, resources, actions, fields: fields ?? null, scope: scope ?? null }
  const momentOf = (moment: number | undefined) => (moment === undefined ? null : timeText(moment))
  return { ...what, from: momentOf(from), until: momentOf(until) }
}

function settingJson({ name, resource, before, after }: SettingChange) {
  return { name, ...(resource === undefined ? {} : { resource }), before, after }
}
