/** What `sallyport access` finds, as text and as JSON. */
import { type Html, html } from '../../present/html.ts'
import { quote } from '../../present/quote.ts'
import { formatsOf, section } from '../../present/report.ts'
import { count, jsonOfLines, table, wrap } from '../../present/text.ts'
import type { AccessChange, AccessComparison } from './compare.ts'
import { grantText } from './granted-roles.ts'
import type { ActionOf, OfReport } from './of.ts'
import type { TakenAsToday } from './past-objects.ts'
import type { AccessReport, AccessRow } from './report.ts'
import type { UndecidedWho, WhoCan, WhoReport } from './who.ts'

export const WHO_FORMATS = formatsOf((report: WhoReport) => ({
  text: () => {
    const { request, at, who, undecided, asToday, rules, conditions } = report
    const { method, path, action, resource, object, field } = request
    const about = `${action} ${object === null ? resource : `${resource}/${quote(object)}`}`
    const head = `${method} ${path}: who can ${about}${field === null ? '' : `, the field ${field}`}, at ${at}`
    const people = who.filter(({ kind }) => kind === 'person').length
    const keys = who.filter(({ kind }) => kind === 'key').length
    const open = undecided.map((one) => `${nameOf(one)}: ${one.why}`)
    return [
      [head],
      who.length === 0 ? ['nobody'] : table([HEAD, ...who.map(cellsOf)]),
      section(
        'roles for a time:',
        who.flatMap((one) => one.grants.map((grant) => `${nameOf(one)}: ${grantText(grant)}`)),
      ),
      section('fields by case:', who.filter(({ byCase }) => byCase.length > 1).flatMap(caseLines)),
      section(
        'undecided:',
        open.flatMap((line) => wrap(line)),
      ),
      section('taken as they are today:', asToday.map(todayText)),
      section(
        'lines:',
        rules.map(({ place, text }) => `${place}  ${text}`),
      ),
      section(
        'conditions:',
        conditions.map(({ name, meaning }) => `${name}: ${meaning}`),
      ),
      [
        `${count(people, 'person').replace('persons', 'people')}, ${count(keys, 'API key')}, ${undecided.length} undecided`,
      ],
    ]
  },
  /** The shape is docs/schemas/access-who.schema.json. */
  json: () => report,
}))

function todayText({ resource, why }: TakenAsToday): string {
  return `${resource}: ${why}`
}

const HEAD = ['who', 'when', 'lines', 'by', 'ends', 'last']

function cellsOf(row: WhoCan): readonly string[] {
  const { when, dependsOnValues, rules, relations, ends, lastDone } = row
  const by = relations.map(({ name, through }) =>
    through.length === 0 ? name : `${name} (${through.map(quote).join(' ')})`,
  )
  const others = row.unless.length === 0 ? '' : `, unless ${row.unless.join(' or ')}`
  const cases = `${when.length === 0 ? 'always' : when.join(' or ')}${others}`
  return [
    nameOf(row),
    dependsOnValues ? `${cases}, by the values sent` : cases,
    rules.map((place) => place.replace('policy.csv', '')).join(' '),
    by.join(', ') || '-',
    ends ?? '-',
    lastDone ?? '-',
  ]
}

function caseLines(row: WhoCan): readonly string[] {
  return row.byCase.map(({ when, fields }) => `${nameOf(row)}, ${when.join(' or ') || 'always'}: ${fields.join(' ')}`)
}

/** The words of docs/access.md. */
function nameOf({ kind, subject, roles, key }: Pick<UndecidedWho, 'kind' | 'subject' | 'roles' | 'key'>): string {
  const named = roles.length === 0 ? '' : ` (${roles.map(quote).join(', ')})`
  switch (kind) {
    case 'anyone':
      return 'anybody, without credentials'
    case 'person':
      return `${quote(subject)}${named}`
    case 'key':
      return `key ${key} of ${quote(subject)}${named}`
    case 'token':
      if (subject !== null) return `a token of ${quote(subject)}`
      return roles.length === 0 ? 'any token' : `any token with the role ${roles.map(quote).join(', ')}`
  }
}

export const OF_FORMATS = formatsOf((report: OfReport) => ({
  text: () => {
    const { subject, key, roles, status, at, resources, undecided } = report
    const who = nameOf({ kind: key === null ? 'person' : 'key', subject, roles, key })
    const open = undecided.map(({ resource, action, why }) => `${action} ${resource}: ${why}`)
    return [
      [`${who} at ${at}: ${status === 'active' ? 'can' : `${status}, so nothing is allowed`}`],
      section('roles for a time:', report.grants.map(grantText)),
      ...resources.map(({ resource, objects, actions }) =>
        section(`${resource}, ${count(objects, 'object')}`, [
          ...table([['action', 'when', 'objects', 'fields'], ...actions.map(ofCells)]),
          ...actions.flatMap(({ action, when, ids = [] }) =>
            ids.map((id) => `${action}${when.length === 0 ? '' : ` (${when.join(' or ')})`} ${quote(id)}`),
          ),
        ]),
      ),
      status === 'active' && resources.length === 0 ? ['nothing'] : [],
      section('undecided:', open),
      status === 'active' ? [leftOutText(report)] : [],
    ]
  },
  /** The shape is docs/schemas/access-of.schema.json. */
  json: () => report,
}))

function leftOutText({ leftOut }: Pick<OfReport, 'leftOut'>): string {
  return `left out, without objects to count: ${leftOut.join(' ')} (\`access who\` asks about them)`
}

function ofCells({ action, when, objects, byValues, fields }: ActionOf): readonly string[] {
  const more = byValues === 0 ? '' : `, ${byValues} by the values sent`
  const groups = fields.map((one) => {
    const on = one.objects === null || one.objects === objects ? '' : ` (${one.objects})`
    return `${one.names.join(' ')}${on}`
  })
  return [
    action,
    when.length === 0 ? 'always' : when.join(' or '),
    `${objects ?? 'new'}${more}`,
    groups.join('; ') || '-',
  ]
}

export const COMPARE_FORMATS = formatsOf((report: AccessComparison) => ({
  text: () => {
    const { at, from, to, compared, changes, undecided } = report
    const rows = changes.flatMap((one) => changeRows(one))
    return [
      [`who gained or lost what, from policy ${from} to ${to}, at ${at}, with the callers and objects of today`],
      rows.length === 0 ? ['nobody gained or lost anything'] : table([COMPARE_HEAD, ...rows]),
      section(
        'undecided:',
        undecided.map(({ subject, resource, action, why }) => `${quote(subject)}, ${action} ${resource}: ${why}`),
      ),
      [leftOutText(report)],
      [`${count(compared, 'caller')} compared, ${changedBy(changes)} with a change, ${undecided.length} undecided`],
    ]
  },
  /** The shape is docs/schemas/access-compare.schema.json. */
  json: () => report,
}))

const COMPARE_HEAD = ['who', '', 'action', 'resource', 'when', 'objects', 'fields']

function changeRows({ subject, key, roles, resource, action, when, ...parts }: AccessChange): readonly string[][] {
  const who = nameOf({ kind: key === null ? 'person' : 'key', subject, roles, key })
  return (['gained', 'lost'] as const).flatMap((way) => {
    const part = parts[way]
    if (!part) return []
    const [, cases = '', objects = '', fields = ''] = ofCells({ action, when, ...part })
    return [[who, way, action, resource, cases, objects, fields]]
  })
}

function changedBy(changes: readonly AccessChange[]): number {
  return new Set(changes.map(({ subject, key }) => JSON.stringify([subject, key]))).size
}

const REPORT_HEAD = ['resource', 'action', 'subject', 'key', 'roles', 'when', 'objects', 'by values', 'fields']

export const ACCESS_REPORT_FORMATS = formatsOf((report: AccessReport) => ({
  /** The findings are rows too, so that nobody loses them. */
  csv: () => [
    REPORT_HEAD,
    ...report.rows.map(reportCells),
    ...report.findings.map(({ code, about, message }) => remark(['finding', code, about], '', message)),
    remark(['left out', '', ''], '', leftOutText(report)),
    remark(['digest', '', ''], '', report.digest),
    ...report.undecided.map(({ resource, action, subject, why }) =>
      remark([resource, action, subject], 'undecided', why),
    ),
  ],
  /** The shape is docs/schemas/access-report.schema.json. */
  json: () => jsonOfLines(report, 'rows'),
  html: () => ({
    heading: 'Access report',
    title: `Access report of policy ${report.revision}`,
    layout: 'report' as const,
    ownStyle: 'li, td { overflow-wrap: anywhere }\n',
    about: html`<p>Who can do what, by policy <code>${report.revision}</code> at <time>${report.at}</time>:
${count(report.rows.length, 'row')}, ${count(report.findings.length, 'finding')}, ${report.undecided.length} undecided.</p>
<p>${leftOutText(report)}</p>`,
    legend: [],
    main: html`<h2>Findings</h2>
${listHtml(report.findings.map(({ message }) => message))}
<h2>Undecided</h2>
${listHtml(report.undecided.map(({ subject, action, resource, why }) => `${subject}, ${action} ${resource}: ${why}`))}
${[...Map.groupBy(report.rows, ({ resource }) => resource)].map(resourceHtml)}`,
  }),
}))

function remark(about: readonly string[], when: string, text: string): readonly string[] {
  return [...about, '', '', when, '', '', text]
}

function reportCells({ resource, action, subject, key, roles, ...row }: AccessRow): readonly string[] {
  const [, when = '', , fields = ''] = ofCells({ action, ...row })
  return [
    resource,
    action,
    subject,
    key ?? '',
    roles.join(' '),
    when,
    `${row.objects ?? 'new'}`,
    `${row.byValues}`,
    fields,
  ]
}

function listHtml(lines: readonly string[]): Html {
  return lines.length === 0 ? html`<p>None.</p>` : html`<ul>${lines.map((line) => html`<li>${line}</li>\n`)}</ul>`
}

function resourceHtml([resource, rows]: readonly [string, readonly AccessRow[]]): Html {
  const cells = rows.map(
    (row) =>
      html`<tr>${reportCells(row)
        .slice(1)
        .map((cell) => html`<td>${cell}</td>`)}</tr>\n`,
  )
  return html`<h2>${resource}</h2>
<div class="wide"><table>
<thead><tr>${REPORT_HEAD.slice(1).map((name) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${cells}</tbody>
</table></div>
`
}
