/**
 * The relation column of a rule: `owner+draft>placed`, `!tenant`, `any`. A name is a relation's or a condition's
 * (docs/policies.md, "Rules about writes").
 */

import { type Action, type Resource, wildcardOf } from '../../resources/resource.ts'
import type { Rule, Term, Views } from '../policy.ts'

export type RelationColumn = Pick<Rule, 'before' | 'after'>

/** The names that hold for a write's result. */
export interface ResultNames {
  /** For the stored object. */
  readonly stored: readonly string[]
  /** States of the stored object, and all else of the proposed one. */
  readonly mixed: readonly string[]
  /** For the proposed object. */
  readonly proposed: readonly string[]
}

const NO_TERMS: readonly Term[] = []

/** As policy.csv writes it. */
export function relationColumnText({ before, after }: RelationColumn): string {
  return after ? `${sideText(before)}>${sideText(after)}` : sideText(before)
}

function sideText(terms: readonly Term[]): string {
  return terms.length === 0 ? 'any' : terms.map(termText).join('+')
}

export function termText({ name, negated }: Term): string {
  return negated ? `!${name}` : name
}

/** The names on both sides of the column, each once. */
export function namesIn({ before, after = NO_TERMS }: RelationColumn): readonly string[] {
  return [...new Set([...before, ...after].map(({ name }) => name))]
}

/** Whether all terms fit when exactly these names hold. */
function allFit(terms: readonly Term[], holding: readonly string[]): boolean {
  return terms.every(({ name, negated }) => holding.includes(name) !== negated)
}

type RelationsAndEffect = RelationColumn & Pick<Rule, 'effect'>

/** The first decision, on the object as it is stored, asks for the left side alone. */
export function fitsObject(rule: RelationsAndEffect, names: readonly string[]) {
  return isOfFirstDecision(rule) && allFit(rule.before, names)
}

/** A deny that asks for a result can't match yet. */
export function isOfFirstDecision({ after, effect }: RelationsAndEffect): boolean {
  return !(effect === 'deny' && after)
}

/**
 * The second decision, on the result of a write: an allow must fit before and after, and a deny needs only one of the
 * two. A left term whose name stands on the right too is asked of the stored object alone.
 */
export function fitsResult({ before, after = NO_TERMS, effect }: RelationsAndEffect, names: ResultNames) {
  if (!allFit(after, names.proposed)) return false
  const fitsBefore = allFit(before, names.stored)
  if (fitsBefore === (effect === 'deny')) return fitsBefore
  const isOnTheRight = (name: string) => after.some((term) => term.name === name)
  return before.every(({ name, negated }) => {
    const holding = isOnTheRight(name) ? names.stored : names.mixed
    return holding.includes(name) !== negated
  })
}

// The fields and actions that the columns of a rule mean.

interface ActionOnResource {
  readonly resource: Resource
  readonly action: Action
}

/** Whether the rule is about what a request for this action must be granted there. */
export function isAbout(rule: Rule, { resource, action }: ActionOnResource): boolean {
  return coversResource(rule, resource) && concernsAction(rule, action)
}

export function coversResource(rule: Rule, { name }: Resource): boolean {
  return rule.resource === name || rule.resource === wildcardOf(name)
}

export function performs({ actions }: Rule, { name }: Action): boolean {
  return actions.includes('*') || actions.includes(name)
}

/** The actions that a request for this one must be granted: a command needs a second one for its steps. */
export function neededActions(action: Action): readonly Action[] {
  return action.also ? [action, action.also] : [action]
}

/** Whether the rule is about what a request for this action must be granted. */
export function concernsAction(rule: Rule, action: Action): boolean {
  return neededActions(action).some((one) => performs(rule, one))
}

/** The rules about each action that must be granted: of a command's two, each has its own. */
export function byAction(rules: readonly Rule[], action: Action): readonly (readonly Rule[])[] {
  return action.also ? neededActions(action).map((one) => rules.filter((rule) => performs(rule, one))) : [rules]
}

/** Whether the rule names a field, in its fields column; `views` are those of the resource. */
export function ruleNames(views: Views | undefined, rule: Rule, field: string): boolean {
  return rule.views.some((view) => view === '*' || (views?.get(view)?.has(field) ?? false))
}

/** All fields that a decision about this action is about; the pseudo-field `*` for an action without. */
export function decidedFields({ resource, action }: ActionOnResource): readonly string[] {
  return action.hasFields ? [...resource.fields.keys()] : ['*']
}
