/** The report of `upgrade --check` for people: what to do stands under the part that it belongs to. */
import { formatDiagnostic } from '../../../base/diagnostic.ts'
import { formatsOf, type Paragraph, section } from '../../../present/report.ts'
import { count, wrap } from '../../../present/text.ts'
import type { CellAnswer, CellChange, RouteChange, UpgradeReport } from './report.ts'

export const UPGRADE_FORMATS = formatsOf((report: UpgradeReport) => ({
  text: () => blocksOf(report),
  json: () => report,
}))

const MOST_LINES = 30

function blocksOf(report: UpgradeReport): readonly Paragraph[] {
  const { old, new: young, step, promise, undecided, changelog, todo } = report
  const changes = changelog.flatMap(({ version, text }) => wrap(`- ${version}: ${text}`, '    '))
  const reasons = undecided.flatMap(({ part, reason }) => wrap(`${part}: ${reason}`, '    '))
  return [
    [`${old} -> ${young} (${step}): ${promise}`],
    section('files', bounded(filesIn(report))),
    section('decisions', bounded(decisionsIn(report))),
    section('changelog: an upgrade must know', bounded(changes)),
    section('data', bounded(report.data.flatMap(dataLines))),
    section('undecided: look at these yourself', bounded(reasons)),
    [todo ? 'there is something to do before this version is in use' : 'nothing to do: install the new version'],
  ]
}

function bounded(lines: readonly string[]): readonly string[] {
  const more = lines.length - MOST_LINES
  return more > 0 ? [...lines.slice(0, MOST_LINES), `and ${count(more, 'line')} more: see --format json`] : lines
}

const BEFORE = { found: 'before too', 'not-found': 'new', unknown: 'perhaps new' } as const

function filesIn({ findings, moreFindings, undecided }: UpgradeReport): readonly string[] {
  const lines = findings.map((one) => `${formatDiagnostic(one)} (${one.severity}, ${BEFORE[one.before]})`)
  if (moreFindings > 0) lines.push(`and ${count(moreFindings, 'finding')} more`)
  if (lines.length > 0) return lines
  return undecided.some((one) => one.part === 'findings') ? [] : ['all files are right for the new version']
}

function decisionsIn({ decisions }: UpgradeReport): readonly string[] {
  const { compared, changes, more, routes } = decisions
  if (compared === 0) return []
  const different = changes.length + more
  return [
    different === 0
      ? `all ${count(compared, 'cell')} of the access matrix are the same`
      : `${different} of ${count(compared, 'cell')} of the access matrix differ`,
    ...changes.map(changeLine),
    ...(more > 0 ? [`and ${count(more, 'cell')} more`] : []),
    ...routes.map(routeLine),
  ]
}

function changeLine({ effect, caller, method, path, relation, becomes, holding, ...sides }: CellChange): string {
  const object = relation === '-' ? '' : ` (${becomes === undefined ? relation : `${relation}>${becomes}`})`
  const assumed = holding.length === 0 ? '' : ` with ${holding.join('+')}`
  return `${effect}: ${caller} ${method} ${path}${object}${assumed}: ${answer(sides.old)} -> ${answer(sides.new)}`
}

function answer({ outcome, granted, fields, conditions, rules }: CellAnswer): string {
  const shown = granted === 'some' ? ` ${fields.join(' ')}` : ''
  const depends = conditions.length === 0 ? '' : `, depends on ${conditions.join(' ')}`
  return `${outcome}${shown}${depends}${rules.length === 0 ? '' : ` by ${rules.join(' ')}`}`
}

function routeLine({ kind, methods, path, callers }: RouteChange): string {
  const who = callers.length === 0 ? 'no caller' : callers.join(', ')
  return `${kind} route: ${methods.join(', ')} ${path}: ${kind === 'new' ? 'allowed for' : 'was allowed for'} ${who}`
}

function dataLines({ engine, old, new: young, canGoBack, file }: UpgradeReport['data'][number]): readonly string[] {
  const [from, what] = file === undefined ? [old, `the ${engine} database`] : [file.layout, file.path]
  if (from === null) return []
  if (from === young) return [`${what} keeps layout ${young}`]
  const back = canGoBack
    ? 'the old version can still open it'
    : 'the old version refuses it from then on, so make a copy of the data first'
  return [`${what} goes from layout ${from} to ${young} at the first start; ${back}`]
}
