/**
 * The printed part of the page of a matrix, for a reader who has only the paper: who holds each role, the rules, what
 * relations, views and conditions mean, and what ends when.
 */

import { timeText } from '../../base/time.ts'
import type { RoleGrants } from '../../decide/caller.ts'
import { rulePlace } from '../../decide/evidence.ts'
import type { Policy, Role } from '../../decide/policy.ts'
import { kindOf } from '../../decide/relations/all-kinds.ts'
import { describeCondition } from '../../decide/request-conditions/all-conditions.ts'
import { lives } from '../../decide/rules/rule-table.ts'
import { type Html, html } from '../../present/html.ts'
import { proseHtml } from '../../present/page.ts'
import type { ApiKey, Person } from '../../store/directory.ts'
import { grantText, reportedGrants } from '../access/granted-roles.ts'
import type { Holder, Matrix } from './matrix.ts'

type PaperEntry = readonly [term: Html | string, meaning: Html | string]
type PaperSection = readonly [name: string, title: string, entries: readonly PaperEntry[], note?: string]

export function paperHtml(matrix: Matrix): Html {
  const { conditions, rules, rows, people, guarantees } = matrix
  const { policy, blocked } = matrix.reviewed
  const relations = [...policy.ownership].map(([name, one]) => [name, one.relations] as const)
  const forever = [...blocked.values()].filter(({ until }) => until === undefined)
  const sections: readonly PaperSection[] = [
    ['roles', 'Roles, and who holds them', rolesIn(policy, people), people ? FROM_DIRECTORY : NOT_HERE],
    ['rules', 'The rules that decide', rules.map(({ line, text }) => [rulePlace(line), text]), COLUMNS],
    ['guarantees', 'What every version must keep', guarantees.map(({ name, status }) => [name, status])],
    ['relations', 'What relations mean', namesIn(rows, relations, (one) => kindOf(one).describe(one))],
    ['views', 'The fields of views', namesIn(rows, policy.views, (fields) => [...fields].sort().join(', '))],
    ['conditions', 'Conditions of the request', conditionsIn(policy, conditions), ASSUMED],
    ['ends', 'What ends', endsIn(matrix)],
    ['blocked', 'Blocked without an end', forever.map(({ id }) => [`user:${id}`, 'every request is refused'])],
  ]
  return html`<div class="paper">
${sections.map((one) => html`${sectionHtml(one)}\n`)}</div>`
}

const COLUMNS =
  'A line names subject, resource, actions, relation, fields and effect. A deny that matches wins over every allow. ' +
  'Small numbers in the cells above are lines of policy.csv.'

const ASSUMED = 'The matrix assumes for each condition whether it holds. A mark with ? depends on conditions.'

const FROM_DIRECTORY = 'Users and API keys of the directory, when this page was made.'
const NOT_HERE = 'Who holds a role is not on this page: `policy matrix --people` reads it from the directory.'

function rolesIn(policy: Policy, people: Matrix['people']): readonly PaperEntry[] {
  return [...policy.roles.values()].map((role) => roleEntry(role, policy, people))
}

function roleEntry({ name, description, claims }: Role, { links }: Policy, people: Matrix['people']): PaperEntry {
  const inherits = links.filter(({ role }) => role === name).map((link) => link.inherits)
  const holders = people?.filter(({ roles }) => roles.includes(name))
  const lines = [
    description,
    ...(inherits.length > 0 ? [`Has all that ${inherits.join(' and ')} has.`] : []),
    ...(claims.length > 0 ? [`Also whoever has the claim ${claims.join(' or ')} of the provider.`] : []),
    ...(holders ? [`Held by: ${holders.map((one) => holderText(one, name)).join('; ') || 'nobody'}.`] : []),
  ]
  return [name, html`${lines.map((line) => html`<div>${line}</div>`)}`]
}

/** Of the resources that the matrix shows, in the order of the file. */
function namesIn<T>(
  rows: Matrix['rows'],
  named: Iterable<readonly [resource: string, names: ReadonlyMap<string, T>]>,
  meaningOf: (one: T) => string,
): readonly PaperEntry[] {
  const shown = [...named].filter(([resource]) => rows.some((row) => row.resource === resource))
  return shown.flatMap(([resource, names]) =>
    [...names].map(([name, one]): PaperEntry => [`${resource}: ${name}`, meaningOf(one)]),
  )
}

function conditionsIn({ conditions }: Policy, holding: readonly string[]): readonly PaperEntry[] {
  return [...conditions].map(([name, one]) => {
    return [name, `${describeCondition(one)} (assumed ${holding.includes(name) ? '' : 'not '}to hold)`]
  })
}

/** Rules and blocks that end, the next one first. */
function endsIn({ reviewed: { policy, blocked }, at }: Matrix): readonly PaperEntry[] {
  const rules = policy.rules.map(({ until, line }) => ({ until, what: `the rule ${rulePlace(line)}` }))
  const blocks = [...blocked.values()].map(({ until, id }) => ({ until, what: `the block of user:${id}` }))
  return [...rules, ...blocks]
    .flatMap(({ until, what }) => (until !== undefined && lives({ until }, at) ? [{ until, what }] : []))
    .toSorted((a, b) => a.until - b.until)
    .map(({ until, what }) => [timeText(until), what])
}

/** Without entries there is nothing to say. */
function sectionHtml([name, title, entries, note]: PaperSection): Html {
  if (entries.length === 0) return html``
  const lines = entries.map(([term, meaning]) => html`<dt>${term}</dt><dd>${meaning}</dd>\n`)
  const remark = note !== undefined && html`<p>${proseHtml(note)}</p>`
  return html`<section class="${name}"><h2>${title}</h2>${remark}<dl>${lines}</dl></section>`
}

// ---- Who holds roles, as the directory says.

/** Keys that have ended hold nothing. */
export function holdersOf(
  people: readonly Person[],
  keys: readonly ApiKey[],
  { grants, now }: { readonly grants: RoleGrants; readonly now: number },
): readonly Holder[] {
  const living = keys.filter(({ revokedAt, expiresAt }) => revokedAt === null && now < expiresAt)
  return [
    ...people.map(({ id, name, roles, account }) => ({
      name: name || id,
      id,
      roles,
      grants: reportedGrants(grants, id, now),
      disabled: account?.disabled ?? false,
    })),
    ...living.map(({ id, subject, roles }) => ({
      name: subject,
      id: `API key ${id}`,
      roles,
      grants: [],
      disabled: false,
    })),
  ]
}

function holderText({ name, id, disabled, grants }: Holder, role: string): string {
  const granted = grants.find((one) => one.role === role)
  return `${name === id ? id : `${name} (${id})`}${granted ? `, ${grantText(granted)}` : ''}${disabled ? ', disabled' : ''}`
}
