/** The usage of a policy as a report: what nobody needed comes first. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import { timeText } from '../../base/time.ts'
import { rulePlace } from '../../decide/evidence.ts'
import { namesMasked } from '../../decide/policy.ts'
import { CELL, ruleLinesOf } from '../../policy/parse/rule-lines.ts'
import { html } from '../../present/html.ts'
import { printable } from '../../present/quote.ts'
import { formatsOf, type Paragraph, section } from '../../present/report.ts'
import { type FindingRule, sarifRun } from '../../present/sarif.ts'
import { count, percentText } from '../../present/text.ts'
import { whyNotCovered } from './coverage.ts'
import type { GrantPart } from './parts.ts'
import type { Trimmed } from './trim.ts'
import type { LineUse, PartUse, Usage, Used, UseVerdict } from './usage.ts'

/** `stale`: the grants that count as findings. */
export interface UsageReport {
  readonly usage: Usage
  readonly stale: readonly PartUse[]
}

export const USAGE_FORMATS = formatsOf((report: UsageReport) => ({
  text: () => blocksOf(report.usage),
  html: () => {
    const [[decided = '', ...told] = [], ...groups] = blocksOf(report.usage)
    return {
      heading: 'Policy usage',
      layout: 'report' as const,
      about: html`<p>${decided}</p>\n<ul>${told.map((line) => html`<li>${line.trim()}</li>\n`)}</ul>`,
      legend: [],
      main: html`${groups.flatMap(([heading = '', ...lines]) =>
        heading === '' ? [] : [html`<h2>${heading}</h2>\n<pre>${lines.join('\n') || 'None.'}</pre>\n`],
      )}`,
    }
  },
  /** docs/schemas/policy-usage.schema.json is the shape. */
  json: () => jsonOf(report),
  sarif: () => [sarifRun('policy usage', RULES, { findings: findingsOf(report), more: 0, sources: sourcesOf(report) })],
}))

const HEADINGS: Readonly<Record<UseVerdict, string>> = {
  unused: 'Nobody needed these lines',
  redundant: 'Requests matched these lines, and none needed them: other lines decide alike',
  undecided: 'Nobody was seen to need these lines, but the logs do not show everything',
  used: 'Needed lines',
}

function blocksOf(usage: Usage): readonly Paragraph[] {
  const { lines, views, roles, keys, limits } = usage
  const byUse = Object.entries(HEADINGS).map(([use, heading]) => {
    const found = lines.filter((line) => line.use === use)
    return section(
      `${heading}: ${found.length}`,
      found.length === 0 ? [] : found.flatMap((line) => lineText(usage, line)),
    )
  })
  const seen = ({ use, decided, last }: Used) =>
    use === 'used' ? `needed by ${count(decided, 'request')}, last ${day(last)}` : use
  return [
    summary(usage),
    ...byUse,
    section(
      'Views',
      views.map((one) => `${one.resource}.${one.view}: ${seen(one)}${namesOf('fields nobody needed', one.fields)}`),
    ),
    section(
      'Roles',
      roles.map(
        (one) => `${one.role}: ${count(one.requests, 'allowed request')} of its holders; its lines: ${seen(one)}`,
      ),
    ),
    section(
      'API keys',
      keys.map(({ key, requests, last }) => `${key}: ${count(requests, 'allowed request')}, last ${day(last)}`),
    ),
    section(
      'Limits',
      limits.map(
        ({ limit, requests, refused }) => `${limit}: ${count(requests, 'request')}, ${refused} refused by a limit`,
      ),
    ),
  ].map((block) => block.map(printable))
}

function summary(usage: Usage): Paragraph {
  const { window, coverage, decided, undecidable, unconcerned, leftOut, otherLines, abilities, otherKeys, loaded } =
    usage
  const hidden = namesMasked(loaded.policy)
  const few = (number: number, what: string) => (number === 0 ? [] : [`  ${what}: ${number}`])
  return [
    `${count(decided, 'request')} decided again, from ${timeText(window.since)} to ${timeText(window.until)}; ` +
      `the logs cover ${percentText(100 * coverage.share)} % of this time.`,
    ...whyNotCovered(coverage).map((why) => `  ${why}`),
    ...[...undecidable].map(([why, number]) => `  ${number} could not be decided again: ${why}`),
    ...few(unconcerned, 'requests that ended before a policy was asked, or by a fault of the server'),
    ...few(abilities, 'answers that also told what the caller can do (?can=true), which is not decided again'),
    ...few(coverage.missingWrites, 'missing numbers of writes between the first and the last record'),
    ...few(otherKeys, 'allowed requests of further API keys, which are not listed'),
    ...few(leftOut, 'records outside of this time'),
    ...few(otherLines, 'lines that are not decision records'),
    ...(hidden.length === 0 ? [] : [`  masks hide: ${hidden.join(', ')}`]),
  ]
}

/** What the summary says already isn't repeated. */
function lineText({ loaded, coverage }: Usage, line: LineUse): readonly string[] {
  const told = whyNotCovered(coverage)
  const { part, use, decided, last, people, morePeople, matched, refusing, why, parts } = line
  if (part.kind === 'field') return []
  const text = loaded.files['policy.csv'].text.split('\n')[part.of.line - 1] ?? ''
  const needed = `needed by ${count(decided, 'request')} of ${morePeople ? 'more than ' : ''}${people === 1 ? '1 person' : `${people} people`}, last ${day(last)}`
  const never = (kind: string, plural: string) =>
    namesOf(
      `${plural} nobody needed`,
      parts.filter((one) => one.part.kind === kind),
    ).slice(2)
  return [
    `${rulePlace(part.of.line)}  ${text.trim().replaceAll(/\s+/g, ' ')}`,
    ...(use === 'used' ? [`  ${needed}`] : []),
    ...(use === 'redundant' ? [`  matched by ${count(matched, 'request')}`] : []),
    ...(refusing > 0
      ? [`  without it, ${count(refusing, 'refused request')} would be refused with another answer`]
      : []),
    ...why.filter((one) => !told.includes(one)).map((one) => `  ${one}`),
    ...(use === 'used'
      ? [never('action', 'actions'), never('view', 'views'), never('term', 'terms')].flatMap((one) =>
          one ? [`  ${one}`] : [],
        )
      : []),
  ]
}

/** What nobody was seen to need; a question mark where the logs don't show everything. */
function namesOf(words: string, parts: readonly PartUse[]): string {
  const names = parts.flatMap(({ part, use }) =>
    use === 'used' || part.kind === 'line' ? [] : [`${part.name}${MARKS[use]}`],
  )
  return names.length === 0 ? '' : `; ${words}: ${names.join(', ')}`
}

const MARKS: Readonly<Record<Exclude<UseVerdict, 'used'>, string>> = {
  unused: '',
  redundant: ' (redundant)',
  undecided: ' (undecided)',
}

function day(time: number | undefined): string {
  return time === undefined ? 'never' : timeText(time).slice(0, 10)
}

function jsonOf({ usage, stale }: UsageReport): unknown {
  const { window, coverage, loaded, lines, views, roles, keys, limits, undecidable, ...counts } = usage
  const lastOf = (last: number | undefined) => (last === undefined ? null : timeText(last))
  const seen = ({ use, decided, last, why }: Used) => ({ use, decided, last: lastOf(last), why })
  const partOf = (one: PartUse) => ({
    ...(one.part.kind === 'field' ? { field: one.part.name } : { kind: one.part.kind, name: one.part.name }),
    ...seen(one),
    refusing: one.refusing,
  })
  const { decided, unconcerned, leftOut, otherLines, abilities, otherKeys } = counts
  return {
    since: timeText(window.since),
    until: timeText(window.until),
    coverage: {
      ...coverage,
      gaps: coverage.gaps.map(({ from, to }) => ({ from: timeText(from), to: timeText(to) })),
      masks: namesMasked(loaded.policy),
    },
    decided,
    unconcerned,
    leftOut,
    otherLines,
    abilities,
    undecidable: [...undecidable].map(([why, number]) => ({ why, count: number })),
    stale: stale.flatMap(({ part }) => {
      return part.kind === 'field' ? [] : [{ rule: rulePlace(part.of.line), kind: part.kind, name: part.name }]
    }),
    lines: lines.flatMap((line) => {
      const { part, matched, people, morePeople, refusing, parts } = line
      if (part.kind === 'field') return []
      const { line: number, subject, resource, effect } = part.of
      const about = { rule: rulePlace(number), subject, resource, effect }
      return [{ ...about, ...seen(line), refusing, matched, people, morePeople, parts: parts.map(partOf) }]
    }),
    views: views.map(({ resource, view, fields, ...one }) => ({
      resource,
      view,
      ...seen(one),
      fields: fields.map(partOf),
    })),
    roles: roles.map(({ role, requests, people, morePeople, ...one }) => ({
      role,
      requests,
      people,
      morePeople,
      ...seen(one),
    })),
    keys: keys.map(({ last, ...one }) => ({ ...one, last: timeText(last) })),
    otherKeys,
    limits,
  }
}

const RULES: readonly FindingRule[] = [
  {
    code: 'unused-line',
    severity: 'warning',
    meaning: 'Nobody needed the line in the time of the logs',
    fix: 'Remove the line, or keep it with a reason',
  },
  {
    code: 'unused-action',
    severity: 'warning',
    meaning: 'Nobody needed the line for this action in the time of the logs',
    fix: 'Remove the action from the line, or keep it with a reason',
  },
  {
    code: 'unused-view',
    severity: 'warning',
    meaning: 'Nobody needed the line for this view in the time of the logs',
    fix: 'Remove the view from the line, or keep it with a reason',
  },
]

const CELLS = { line: 0, action: CELL.action, view: CELL.fields, term: CELL.relation } as const

function findingsOf({ usage, stale }: UsageReport): readonly Diagnostic[] {
  const source = usage.loaded.files['policy.csv']
  const places = ruleLinesOf(source)
  const { since, until } = usage.window
  return stale.flatMap(({ part, last }): readonly Diagnostic[] => {
    const place = part.kind === 'field' ? undefined : places.get(part.of.line)?.placeOf(CELLS[part.kind])
    if (!place) return []
    const what = part.kind === 'line' ? 'this line' : `the ${part.kind} \`${part.name}\` of this line`
    const when = last === undefined ? `from ${timeText(since)} to ${timeText(until)}` : `since ${timeText(last)}`
    const message = `nobody needed ${what} ${when}`
    const hint = 'see it with `sallyport policy usage`, and remove it or keep it with a reason'
    return [{ ...place, code: `unused-${part.kind}`, severity: 'warning', message, hint }]
  })
}

function sourcesOf({ usage }: UsageReport): ReadonlyMap<string, string> {
  const { name, text } = usage.loaded.files['policy.csv']
  return new Map([[name, text]])
}

// ---- What was trimmed, why the rest stays, and the proof.

export const TRIM_FORMATS = formatsOf((trimmed: Trimmed) => {
  const { out, removed, stay, proof, usage } = trimmed
  const undecided = usage.lines.filter(({ use }) => use === 'undecided').length
  return {
    text: () =>
      [
        removed.length === 0 ? ['Nothing was removed.'] : section(`Removed: ${removed.length}`, removed.map(grantText)),
        section(
          'Nobody needed these, and they stay',
          stay.map(({ grant, why }) => `${grantText(grant)}: ${why}`),
        ),
        undecided === 0
          ? []
          : [`Lines that stay because the logs do not show everything (see \`policy usage\`): ${undecided}`],
        section(isProven(trimmed.proof) ? `${out} is proven:` : `${out} is NOT proven: do not apply it`, [
          `replay: ${count(proof.replayed, 'request')}, ${proof.different} answered otherwise` +
            (proof.notReplayed === 0 ? '' : `; ${proof.notReplayed} more can't be decided again`),
          `check and guarantees: ${count(proof.errors, 'error')}`,
          `matrices: ${proof.unmet} of ${count(proof.expectations, 'expectation')} no longer met`,
          `diff: ${proof.narrowing} narrowing, ${proof.widening} widening`,
        ]),
      ].map((block) => block.map(printable)),
    /** docs/schemas/policy-trim.schema.json is the shape. */
    json: () => ({
      out,
      removed: removed.map(grantOf),
      stay: stay.map(({ grant, why }) => ({ ...grantOf(grant), why })),
      undecided,
      proven: isProven(proof),
      proof,
    }),
  }
})

function grantOf({ kind, name, of }: GrantPart) {
  return { rule: rulePlace(of.line), kind, name }
}

function grantText({ kind, name, of }: GrantPart): string {
  return kind === 'line' ? rulePlace(of.line) : `${rulePlace(of.line)}, ${kind} ${name}`
}

export function isProven({ different, errors, unmet, widening }: Trimmed['proof']): boolean {
  return different + errors + unmet + widening === 0
}
