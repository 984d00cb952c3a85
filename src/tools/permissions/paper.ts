/** The printed part of the page of a matrix: the rules, and what its words mean. */
import { timeText } from '../../base/time.ts'
import { rulePlace } from '../../decide/evidence.ts'
import { type Html, html } from '../../present/html.ts'
import { proseHtml } from '../../present/page.ts'
import type { Background, Holder } from './background.ts'
import type { Matrix } from './matrix.ts'

type Entry = readonly [term: Html | string, meaning: Html | string]

export function paperHtml({ background, people, conditions, rules }: Matrix): Html {
  const { relations, views, ends, blocked } = background
  const nameOf = ({ resource, name }: { resource: string; name: string }) => `${resource}: ${name}`
  return html`<div class="paper">
${sectionHtml(
  'roles',
  'Roles, and who holds them',
  background.roles.map((role) => roleEntry(role, people)),
  heldText(people),
)}
${sectionHtml(
  'rules',
  'The rules that decide',
  rules.map(({ line, text }) => [rulePlace(line), text]),
  COLUMNS,
)}
${sectionHtml(
  'relations',
  'What relations mean',
  relations.map((one) => [nameOf(one), one.meaning]),
)}
${sectionHtml(
  'views',
  'The fields of views',
  views.map((one) => [nameOf(one), one.meaning]),
)}
${sectionHtml('conditions', 'Conditions of the request', conditionEntries(background, conditions), ASSUMED)}
${sectionHtml(
  'ends',
  'What ends',
  ends.map(({ until, what }) => [timeText(until), what]),
)}
${sectionHtml(
  'blocked',
  'Blocked without an end',
  blocked.map((id) => [id, 'every request is refused']),
)}
</div>`
}

const COLUMNS =
  'A line names subject, resource, actions, relation, fields and effect. A deny that matches wins over every allow. ' +
  'Small numbers in the cells above are lines of policy.csv.'

const ASSUMED = 'The matrix supposes for each condition whether it holds. A mark with ? depends on conditions.'

function heldText(people: readonly Holder[] | undefined): string {
  return people
    ? 'Users and API keys of the directory, when this page was made.'
    : 'Who holds a role is not on this page: `policy matrix --people` reads it from the directory.'
}

function roleEntry(
  { name, description, inherits, claims }: Background['roles'][number],
  people: Matrix['people'],
): Entry {
  const holders = people?.filter(({ roles }) => roles.includes(name))
  const lines = [
    description,
    ...(inherits.length > 0 ? [`Has all that ${inherits.join(' and ')} has.`] : []),
    ...(claims.length > 0 ? [`Also whoever has the claim ${claims.join(' or ')} of the provider.`] : []),
    ...(holders ? [`Held by: ${holders.map(holderText).join('; ') || 'nobody'}.`] : []),
  ]
  return [name, html`${lines.map((line) => html`<div>${line}</div>`)}`]
}

function holderText({ name, id, disabled }: Holder): string {
  return `${name === id ? id : `${name} (${id})`}${disabled ? ', disabled' : ''}`
}

function conditionEntries({ conditions }: Background, holding: readonly string[]): readonly Entry[] {
  return conditions.map(({ name, meaning }) => {
    return [name, `${meaning} (supposed ${holding.includes(name) ? '' : 'not '}to hold)`]
  })
}

/** Without entries there is nothing to say. */
function sectionHtml(name: string, title: string, entries: readonly Entry[], note = ''): Html {
  if (entries.length === 0) return html``
  const lines = entries.map(([term, meaning]) => html`<dt>${term}</dt><dd>${meaning}</dd>\n`)
  const remark = note !== '' && html`<p>${proseHtml(note)}</p>`
  return html`<section class="${name}"><h2>${title}</h2>${remark}<dl>${lines}</dl></section>`
}
