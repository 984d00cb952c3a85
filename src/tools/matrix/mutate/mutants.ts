/** A policy with one mistake in it, as text: the mistakes in rules, in inheritance, and in what names mean. */

import { type Document, isNode, LineCounter, parseDocument } from 'yaml'
import type { Policy } from '../../../decide/policy.ts'
import { kindOf, stepsIn } from '../../../decide/relations/all-kinds.ts'
import { conditionMistakes } from '../../../decide/request-conditions/all-conditions.ts'
import { placeForRules, readRuleLines } from '../../../policy/parse/rule-lines.ts'
import { coveredResources } from '../../../policy/parse/rule-scope.ts'
import type { PolicyFileName, PolicyFiles, RequiredFileName } from '../../../policy/policy-files.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Endpoint, Resource, Resources } from '../../../resources/resource.ts'
import type { Operator } from './operators.ts'

export interface Mutant {
  readonly operator: Operator
  readonly file: PolicyFileName
  /** The line of the mistake in the original policy. */
  readonly line: number
  /** The resource of the mistake, `*` and `system/*` included; undefined if it may be any. */
  readonly resource: string | undefined
  /** The old and the new text, in a few words. */
  readonly change: string
  readonly files: PolicyFiles
}

/** What operators make mutants from. */
export interface Source {
  readonly files: PolicyFiles
  readonly resources: Resources
}

/** The cells of a `p` or `g` line. */
interface RuleCells {
  readonly line: number
  readonly cells: readonly string[]
}

/** Columns of a `p` line; 0 is the `p` itself. */
const COLUMN = { subject: 1, resource: 2, actions: 3, relations: 4, fields: 5, effect: 6 } as const

const FILE = 'policy.csv'

function linesOf({ [FILE]: source }: PolicyFiles): readonly RuleCells[] {
  return readRuleLines(source, () => undefined)
    .map(({ line, cells }) => ({ line, cells }))
    .toArray()
}

/** The line with one cell changed. */
function withCell(files: PolicyFiles, operator: Operator, { line, cells }: RuleCells, edit: Edit): Mutant {
  const changed = withCells(cells.map((cell, i) => (i === edit.column ? edit.to : cell)))
  const change = `${withCells(cells)} -> ${edit.to}`
  return mutant(operator, { line, cells }, change, withLine(files, line, changed))
}

interface Edit {
  readonly column: number
  readonly to: string
}

/** An empty line replaces the line, so that no other line moves. */
function withoutLine(files: PolicyFiles, operator: Operator, { line, cells }: RuleCells): Mutant {
  return mutant(operator, { line, cells }, `${withCells(cells)} -> nothing`, withLine(files, line, ''))
}

/** One more line after the others. */
function withLineMore(files: PolicyFiles, operator: Operator, cells: readonly string[]): Mutant {
  const { name, text } = files[FILE]
  const at = placeForRules(text)
  const before = text.slice(0, at)
  const ended = before === '' || before.endsWith('\n') ? before : `${before}\n`
  const line = ended.split('\n').length
  const source = { name, text: `${ended}${withCells(cells)}\n${text.slice(at)}` }
  return mutant(operator, { line, cells }, `nothing -> ${withCells(cells)}`, { ...files, [FILE]: source })
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
export function withCells(cells: readonly string[]): string {
  return cells.map((cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(', ')
}

interface YamlEdit {
  readonly operator: Operator
  readonly file: RequiredFileName | 'conditions.yaml'
  /** Keys and indexes from the root. */
  readonly path: readonly [first: string, ...keys: string[]]
  readonly to: unknown
}

function withValue(files: PolicyFiles, { operator, file, path, to }: YamlEdit): Mutant {
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

function mutateTerms({ files }: Source, rule: RuleCells): readonly Mutant[] {
  const column = rule.cells[COLUMN.relations] ?? ''
  const edits: readonly (readonly [Operator, readonly string[]])[] = [
    ['any-object', column === ANY ? [] : [ANY]],
    ['drop-relation', eachSide(column, withoutEach)],
    ['flip-term', eachSide(column, flippedEach)],
    ['drop-result', column.includes('>') ? [column.split('>')[0] ?? ANY] : []],
  ]
  return edits.flatMap(([operator, texts]) =>
    texts.map((to) => withCell(files, operator, rule, { column: COLUMN.relations, to })),
  )
}

const ANY = 'any'

/** The columns in which one side is another one. */
function eachSide(column: string, change: (terms: readonly string[]) => readonly string[]): readonly string[] {
  const sides = column.split('>')
  return sides.flatMap((side, i) => {
    const terms = side.split('+').map((term) => term.trim())
    return terms[0] === ANY ? [] : change(terms).map((changed) => sides.with(i, changed).join('>'))
  })
}

/** A side without terms would be `any`: `any-object` and `drop-result` do that. */
function withoutEach(terms: readonly string[]): readonly string[] {
  return terms.length < 2 ? [] : terms.map((_, i) => terms.toSpliced(i, 1).join('+'))
}

function flippedEach(terms: readonly string[]): readonly string[] {
  return terms.map((term, i) => terms.with(i, term.startsWith('!') ? term.slice(1) : `!${term}`).join('+'))
}

/** Every mistake in every rule. */
export function mutateRules(source: Source, vocabulary: Vocabulary): readonly Mutant[] {
  const rules = linesOf(source.files).filter(({ cells }) => cells[0] === 'p')
  return rules.flatMap((rule) => MISTAKES.flatMap((make) => make(source, rule, vocabulary)))
}

type Mistake = (source: Source, rule: RuleCells, vocabulary: Vocabulary) => readonly Mutant[]

const MISTAKES: readonly Mistake[] = [dropRule, flipEffect, mutateTerms, addAction, removeAction, widenFields, swapRole]

function dropRule({ files }: Source, rule: RuleCells): readonly Mutant[] {
  return [withoutLine(files, rule.cells[COLUMN.effect] === 'deny' ? 'drop-deny' : 'drop-rule', rule)]
}

function flipEffect({ files }: Source, rule: RuleCells): readonly Mutant[] {
  const to = rule.cells[COLUMN.effect] === 'deny' ? 'allow' : 'deny'
  return [withCell(files, 'flip-effect', rule, { column: COLUMN.effect, to })]
}

function addAction({ files, resources }: Source, rule: RuleCells): readonly Mutant[] {
  const actions = namesIn(rule, COLUMN.actions, '|')
  if (actions.includes('*')) return []
  const hasResult = rule.cells[COLUMN.relations]?.includes('>')
  const covered = coveredResources(rule.cells[COLUMN.resource] ?? '', resources)
  const served = covered.flatMap(hasResult ? actionsOfWrites : actionsServed)
  return [...new Set(served)]
    .filter((action) => !actions.includes(action))
    .map((action) =>
      withCell(files, 'add-action', rule, { column: COLUMN.actions, to: [...actions, action].join('|') }),
    )
}

function removeAction({ files }: Source, rule: RuleCells): readonly Mutant[] {
  return withoutOne(rule, COLUMN.actions, '|').map((to) =>
    withCell(files, 'remove-action', rule, { column: COLUMN.actions, to }),
  )
}

/** All fields, and each other view. */
function widenFields({ files, resources }: Source, rule: RuleCells, { viewsOf }: Vocabulary): readonly Mutant[] {
  const views = namesIn(rule, COLUMN.fields, '|')
  if (views.includes('*')) return []
  const known = coveredResources(rule.cells[COLUMN.resource] ?? '', resources).flatMap(({ name }) => viewsOf(name))
  const more = [...new Set(known)].filter((view) => !views.includes(view)).map((view) => [...views, view].join('|'))
  return ['*', ...more].map((to) => withCell(files, 'widen-fields', rule, { column: COLUMN.fields, to }))
}

/** Replaces the subject only by roles and `everyone`: another user would have almost the same effect as no rule. */
function swapRole({ files }: Source, rule: RuleCells, { roles }: Vocabulary): readonly Mutant[] {
  const others = [...roles, 'everyone'].filter((name) => name !== rule.cells[COLUMN.subject])
  return others.map((to) => withCell(files, 'swap-role', rule, { column: COLUMN.subject, to }))
}

function withoutOne(rule: RuleCells, column: number, separator: string): readonly string[] {
  const names = namesIn(rule, column, separator)
  return names.length < 2 ? [] : names.map((left) => names.filter((name) => name !== left).join(separator))
}

function namesIn({ cells }: RuleCells, column: number, separator: string): readonly string[] {
  return (cells[column] ?? '').split(separator)
}

/** The actions that routes serve. A mistake in another action would change no answer. */
function actionsServed({ routes }: Resource): readonly string[] {
  return routes.flatMap(({ endpoints }) => [...endpoints.values()].map(({ action }) => action))
}

/** The actions that only write to stored objects: a right side needs one. */
function actionsOfWrites(resource: Resource): readonly string[] {
  const endpoints = resource.routes.flatMap((route) => [...route.endpoints.values()])
  const isWrite = ({ operation }: Endpoint) => operation === 'replace' || operation === 'update'
  const others = endpoints.filter((one) => !isWrite(one)).map(({ action }) => action)
  return actionsServed(resource).filter((action) => !others.includes(action))
}

/** Includes circles of inheritance, which the parser refuses. */
export function mutateLinks({ files }: Source, { roles }: Vocabulary): readonly Mutant[] {
  const links = linesOf(files).filter(({ cells }) => cells[0] === 'g')
  const linked = new Set(links.map(({ cells }) => `${cells[1]} ${cells[2]}`))
  const pairs = roles.flatMap((role) => roles.filter((other) => other !== role).map((other) => [role, other] as const))
  return [
    ...links.map((link) => withoutLine(files, 'drop-inheritance', link)),
    ...pairs
      .filter(([role, inherits]) => !linked.has(`${role} ${inherits}`))
      .map(([role, inherits]) => withLineMore(files, 'add-inheritance', ['g', role, inherits])),
  ]
}

export interface Vocabulary {
  readonly roles: readonly string[]
  viewsOf(resource: string): readonly string[]
}

export function vocabularyOf({ roles, views }: Policy): Vocabulary {
  return { roles: [...roles.keys()], viewsOf: (resource) => [...(views.get(resource)?.keys() ?? [])] }
}

/** The values that a field can have, as far as the schema lists them. */
export type ValuesOf = (resource: Resource, field: string) => readonly Scalar[]

export function mutateVocabulary(source: Source, policy: Policy, valuesOf: ValuesOf): readonly Mutant[] {
  const ofResources = [...source.resources.byName.values()].flatMap((resource) => [
    ...addFields(source, policy, resource),
    ...changeRelations(source, policy, resource, valuesOf),
    ...flipConceal(source, policy, resource),
  ])
  return [...ofResources, ...changeConditions(source, policy)]
}

function changeConditions({ files }: Source, { conditions }: Policy): readonly Mutant[] {
  return [...conditions].flatMap(([name, condition]) =>
    conditionMistakes(condition).map((to) => ({
      ...withValue(files, { operator: 'change-condition', file: 'conditions.yaml', path: [name], to }),
      resource: undefined,
    })),
  )
}

function addFields({ files }: Source, { views }: Policy, { name, fields }: Resource): readonly Mutant[] {
  return [...(views.get(name) ?? [])].flatMap(([view, held]) =>
    [...fields.keys()]
      .filter((field) => !held.has(field))
      .map((field) =>
        withValue(files, {
          operator: 'add-field',
          file: 'views.yaml',
          path: [name, view] as const,
          to: [...held, field],
        }),
      ),
  )
}

function changeRelations(
  { files }: Source,
  { ownership }: Policy,
  resource: Resource,
  valuesOf: ValuesOf,
): readonly Mutant[] {
  const relations = [...(ownership.get(resource.name)?.relations.values() ?? [])]
  return relations.flatMap((relation) =>
    kindOf(relation)
      .mistakes(relation, resource, {
        valuesOf: (field) => valuesOf(resource, field),
        relationsOf: (other) => ownership.get(other)?.relations.values() ?? [],
      })
      .map((to) => {
        const path = [resource.name, 'relations', relation.name] as const
        const mutant = withValue(files, { operator: 'change-relation', file: 'ownership.yaml', path, to })
        return isRestedOn(ownership, resource) ? { ...mutant, resource: undefined } : mutant
      }),
  )
}

/** Whether relations of other resources rest on objects of this one. */
function isRestedOn(ownership: Policy['ownership'], { name }: Resource): boolean {
  return [...ownership].some(([other, { relations }]) => {
    const steps = [...relations.values()].flatMap(stepsIn)
    return other !== name && steps.some(({ resource }) => resource === name)
  })
}

function flipConceal({ files }: Source, { ownership }: Policy, { name }: Resource): readonly Mutant[] {
  const owned = ownership.get(name)
  if (!owned) return []
  const path = [name, 'conceal'] as const
  return [withValue(files, { operator: 'flip-conceal', file: 'ownership.yaml', path, to: !owned.conceal })]
}
