/** The mistakes in `p` lines of policy.csv. */
import type { Policy } from '../../../decide/policy.ts'
import type { Endpoint, Resource, Resources } from '../../../resources/resource.ts'
import { COLUMN, linesOf, type RuleCells, withCell, withLineMore, withoutLine } from './edits.ts'
import type { Mutant, Source } from './mutants.ts'
import { mutateTerms } from './mutate-terms.ts'

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
  const covered = coveredBy(rule.cells[COLUMN.resource] ?? '', resources)
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
  const known = coveredBy(rule.cells[COLUMN.resource] ?? '', resources).flatMap(({ name }) => viewsOf(name))
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

function coveredBy(resource: string, { byName }: Resources): readonly Resource[] {
  const exact = byName.get(resource)
  if (exact) return [exact]
  return [...byName.values()].filter(({ builtIn }) => builtIn === (resource === 'system/*'))
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
