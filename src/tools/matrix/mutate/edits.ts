/** Policy files with one edit: a line of policy.csv, or a value of a YAML file. The rest of the file stays as it is. */

import { type Document, isNode, LineCounter, parseDocument } from 'yaml'
import { placeForRules, readRuleLines } from '../../../policy/parse/rule-lines.ts'
import type { PolicyFiles, RequiredFileName } from '../../../policy/policy-files.ts'
import type { Mutant, Operator } from './mutants.ts'

/** The cells of a `p` or `g` line. */
export interface RuleCells {
  readonly line: number
  readonly cells: readonly string[]
}

/** Columns of a `p` line; 0 is the `p` itself. */
export const COLUMN = { subject: 1, resource: 2, actions: 3, relations: 4, fields: 5, effect: 6 } as const

const FILE = 'policy.csv'

export function linesOf({ [FILE]: source }: PolicyFiles): readonly RuleCells[] {
  return readRuleLines(source, () => undefined)
    .map(({ line, cells }) => ({ line, cells }))
    .toArray()
}

/** The line with one cell changed. */
export function withCell(files: PolicyFiles, operator: Operator, { line, cells }: RuleCells, edit: Edit): Mutant {
  const changed = textOf(cells.map((cell, i) => (i === edit.column ? edit.to : cell)))
  const change = `${textOf(cells)} -> ${edit.to}`
  return mutant(operator, { line, cells }, change, withLine(files, line, changed))
}

interface Edit {
  readonly column: number
  readonly to: string
}

/** An empty line replaces the line, so that no other line moves. */
export function withoutLine(files: PolicyFiles, operator: Operator, { line, cells }: RuleCells): Mutant {
  return mutant(operator, { line, cells }, `${textOf(cells)} -> nothing`, withLine(files, line, ''))
}

/** One more line after the others. */
export function withLineMore(files: PolicyFiles, operator: Operator, cells: readonly string[]): Mutant {
  const { name, text } = files[FILE]
  const at = placeForRules(text)
  const before = text.slice(0, at)
  const ended = before === '' || before.endsWith('\n') ? before : `${before}\n`
  const line = ended.split('\n').length
  const source = { name, text: `${ended}${textOf(cells)}\n${text.slice(at)}` }
  return mutant(operator, { line, cells }, `nothing -> ${textOf(cells)}`, { ...files, [FILE]: source })
}

/** A `g` line names no resource, so it can affect any. */
function mutant(operator: Operator, { line, cells }: RuleCells, change: string, files: PolicyFiles): Mutant {
  const resource = cells[0] === 'p' ? cells[COLUMN.resource] : undefined
  return { operator, file: FILE, line, resource, change, files }
}

function withLine(files: PolicyFiles, line: number, written: string): PolicyFiles {
  const { name, text } = files[FILE]
  const lines = text.split('\n').map((before, i) => (i === line - 1 ? written : before))
  return { ...files, [FILE]: { name, text: lines.join('\n') } }
}

/** RFC 4180 section 2: a cell with a comma or a quote is quoted. */
function textOf(cells: readonly string[]): string {
  return cells.map((cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(', ')
}

export interface YamlEdit {
  readonly operator: Operator
  readonly file: RequiredFileName | 'conditions.yaml'
  /** Keys and indexes from the root. */
  readonly path: readonly [first: string, ...keys: string[]]
  readonly to: unknown
}

export function withValue(files: PolicyFiles, { operator, file, path, to }: YamlEdit): Mutant {
  const { name, text } = files[file] ?? { name: file, text: '' }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const line = lineOf(document, path, lines)
  const before = document.getIn(path)
  const from = before === undefined ? 'nothing' : JSON.stringify(plain(before))
  document.setIn(path, document.createNode(to, { flow: true }))
  const change = `${path.join('.')}: ${from} -> ${JSON.stringify(to)}`
  return {
    operator,
    file,
    line,
    resource: path[0],
    change,
    files: { ...files, [file]: { name, text: document.toString() } },
  }
}

function plain(value: unknown): unknown {
  return isNode(value) ? value.toJSON() : value
}

/** The line of the value; without a value, the line of the object that would hold it. */
function lineOf(document: Document, path: readonly (string | number)[], lines: LineCounter): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
}
