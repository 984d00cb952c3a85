/**
 * A near miss as changed lines of policy.csv. A relation or a condition becomes a line without that term, for this action
 * alone; another role or user, a line for this caller; a deny, one that leaves this action out. What no line can say (other
 * credentials, another state of the object) gives none.
 */
import { basename } from 'node:path'
import { CELL, ruleLinesOf } from '../../policy/parse/rule-lines.ts'
import type { LineEdit } from '../line-edit.ts'
import { withCells } from '../matrix/mutate/mutants.ts'
import type { NeededChange } from './explanation.ts'
import type { ExplainQuestion, NearMiss } from './request.ts'

type Cells = readonly string[]
type Change<K extends NeededChange['kind']> = Extract<NeededChange, { readonly kind: K }>

export function editsOfMiss({ reviewed, request, caller }: ExplainQuestion, miss: NearMiss): readonly LineEdit[] {
  if (request.kind !== 'route') return []
  const source = reviewed.files['policy.csv']
  const lines = ruleLinesOf(source)
  const asked = { resource: request.route.resource, action: request.endpoint.action }
  const subject = miss.changes.some(isOfCaller) ? subjectOf(caller) : ''
  if (subject === undefined || miss.changes.some(({ kind }) => kind === 'credentials')) return []
  const denies = miss.changes.filter((change): change is Change<'deny'> => change.kind === 'deny')
  const terms = miss.changes.filter((change) => change.kind !== 'deny' && !isOfCaller(change))
  const texts = new Map<number, string | null>()
  for (const { rule } of denies) {
    const line = Number(rule.slice(rule.lastIndexOf(':') + 1))
    texts.set(line, withoutAction(lines.get(line)?.cells ?? [], asked.action))
  }
  if (terms.length > 0 || subject !== '') {
    const found = miss.rules.flatMap(({ line }) => {
      const rule = lines.get(line)?.cells ?? []
      const relation = withoutTerms(rule[CELL.relation] ?? '', terms)
      return relation === undefined ? [] : [{ line, rule, relation }]
    })
    const [first] = found
    if (!first) return []
    const { line, rule, relation } = first
    const known = reviewed.policy.views.get(asked.resource) ?? new Set()
    const changed = narrowed(rule, { ...asked, subject, relation, known })
    const isWhole = subject === '' && isAbout(rule, asked)
    texts.set(line, isWhole ? changed : `${source.text.split(/\r?\n/)[line - 1]}\n${changed}`)
  }
  return [...texts].map(([line, text]) => ({ file: basename(source.name), line, text }))
}

function isOfCaller({ kind }: NeededChange): boolean {
  return kind === 'role' || kind === 'user'
}

/** Undefined for a caller of several roles and no name: each of them could be meant. */
function subjectOf(caller: ExplainQuestion['caller']): string | undefined {
  if (caller.kind === 'anonymous') return undefined
  if (caller.subject !== undefined) return `user:${caller.subject}`
  return caller.roles.length === 1 ? caller.roles[0] : undefined
}

interface AskedRule {
  readonly resource: string
  readonly action: string
}

function isAbout(cells: Cells, { resource, action }: AskedRule): boolean {
  return cells[CELL.resource] === resource && cells[CELL.action] === action
}

interface Narrowing extends AskedRule {
  /** Empty for that of the rule. */
  readonly subject: string
  readonly relation: string
  /** The views of the resource. */
  readonly known: { has(view: string): boolean }
}

function narrowed(cells: Cells, { resource, action, subject, relation, known }: Narrowing): string {
  const views = (cells[CELL.fields] ?? '').split('|').filter((view) => view === '*' || known.has(view.trim()))
  const about = cells
    .with(CELL.resource, resource)
    .with(CELL.action, action)
    .with(CELL.relation, relation)
    .with(CELL.fields, views.join('|'))
  return withCells(subject === '' ? about : about.with(CELL.subject, subject))
}

/** Null for a deny of this action alone, and for one of all actions. */
function withoutAction(cells: Cells, action: string): string | null {
  const actions = (cells[CELL.action] ?? '').split('|').map((one) => one.trim())
  const left = actions.filter((one) => one !== action)
  const isPart = left.length > 0 && left.length < actions.length
  return isPart ? withCells(cells.with(CELL.action, left.join('|'))) : null
}

/** Undefined where one of the changes isn't about a term of this column. */
function withoutTerms(column: string, changes: readonly NeededChange[]): string | undefined {
  const [before = '', after] = column.split('>')
  const sides = [termsIn(before), termsIn(after ?? '')] as const
  const gone = [new Set<string>(), new Set<string>()] as const
  for (const change of changes) {
    if (!('name' in change)) return undefined
    const term = change.kind.startsWith('not-') ? `!${change.name}` : change.name
    const side = change.kind.endsWith('result') ? 1 : 0
    if (!sides[side].includes(term)) return undefined
    gone[side].add(term)
  }
  const [left, right] = sides.map((terms, i) => terms.filter((term) => !gone[i === 0 ? 0 : 1].has(term)))
  const text = left?.join('+') || 'any'
  return right && right.length > 0 ? `${text}>${right.join('+')}` : text
}

function termsIn(side: string): readonly string[] {
  return side
    .split('+')
    .map((term) => term.trim())
    .filter((term) => term !== '' && term !== 'any')
}
