/**
 * The only file that uses Casbin. It creates an enforcer from parsed rules, and asks it. Input that Casbin would
 * silently misread (test/policy/casbin-facts.test.ts) never reaches it.
 */

import { type Adapter, type Model, newEnforcer, newModelFromString } from 'casbin'
import { LRUCache } from 'lru-cache'
import { type Action, type Resource, type Resources, wildcardOf } from '../../resources/resource.ts'
import type { HeldNames, IsGranted } from '../grants/grant.ts'
import type { Rule, Term, Views } from '../policy.ts'
import { LivingRules, type PackedPolicy } from '../rules/rule-table.ts'
import { fitsObject, fitsResult, relationColumnText } from '../rules/terms.ts'
import { type GrantsAbout, Snapshot } from '../snapshot.ts'
import { MODEL } from './model.ts'

/** Those asked for last; a table keeps the enforcer that it was made with. */
const MOST_ENFORCERS = 2000

/** No rule names this subject, so the caller of an enforcer has no grants of its own (roles contain no colon). */
const CALLER = 'caller:'

/**
 * A snapshot whose cells Casbin computes, with the rules that are in force at a time (milliseconds since the epoch).
 */
export function casbinPolicy(policy: PackedPolicy, resources: Resources, now = Number.NEGATIVE_INFINITY): Snapshot {
  const enforcers = new LRUCache<string, Promise<AskCasbin>>({ maxSize: MOST_ENFORCERS, sizeCalculation: () => 1 })
  const enforcerOf = (
    { subjects, resource, concernsObject }: GrantsAbout,
    rules: readonly Rule[],
  ): Promise<AskCasbin> => {
    const key = JSON.stringify([resource.name, subjects, concernsObject])
    const known = enforcers.get(key)
    if (known) return known
    const links = subjects.map((parent) => ({ child: CALLER, parent }))
    const made = createEnforcer(rules, links, policy.views)
    enforcers.set(key, made)
    made.catch(() => enforcers.delete(key))
    return made
  }
  return new Snapshot(policy, resources, {
    rules: new LivingRules(policy.table, now),
    async granter(about, rules) {
      const ask = await enforcerOf(about, rules)
      return (action) => askedOf(ask, about.resource, action)
    },
  })
}

function askedOf(ask: AskCasbin, resource: Resource, action: Action): IsGranted {
  return (field, held) => ask({ subject: CALLER, resource: resource.name, action: action.name, held, field })
}

/** A request to Casbin: the names that hold are joined with `+`, in any order, and the three sets of a result with `>`. */
interface CasbinRequest {
  readonly subject: string
  readonly resource: string
  readonly action: string
  readonly held: HeldNames
  readonly field: string
}

type AskCasbin = (request: CasbinRequest) => boolean

/** `child` inherits from `parent`: a Casbin `g` line. */
interface InheritanceLine {
  readonly child: string
  readonly parent: string
}

/**
 * Makes an enforcer that holds these rules and links. Casbin is never asked about an empty rule set, which denies
 * everything.
 */
export async function createEnforcer(
  rules: readonly Rule[],
  links: readonly InheritanceLine[],
  views: ReadonlyMap<string, Views>,
): Promise<AskCasbin> {
  if (rules.length === 0) return () => false
  const enforcer = await newEnforcer(newModelFromString(MODEL), adapterOf(rules, links))
  await enforcer.addFunction('covers', covers)
  await enforcer.addFunction('performs', performs)
  await enforcer.addFunction('fits', fits)
  await enforcer.addFunction('names', (fields: string, resource: string, field: string) =>
    names(views.get(resource), fields, field),
  )
  return ({ subject, resource, action, held, field }) =>
    enforcer.enforceSync(subject, resource, action, heldText(held), field) === true
}

/** Adds the rules to Casbin's model. Casbin's CSV reader is not used: see casbin-facts.test.ts. */
function adapterOf(rules: readonly Rule[], links: readonly InheritanceLine[]): Adapter {
  const fill = (model: Model, section: 'p' | 'g', lines: string[][]) => {
    const assertion = model.model.get(section)?.get(section)
    if (!assertion) throw new Error(`the Casbin model has no section ${section}`)
    assertion.policy = lines
  }
  const refuse = async (): Promise<never> => {
    throw new Error('an enforcer never changes after it is made')
  }
  return {
    loadPolicy: async (model) => {
      fill(model, 'p', rules.map(cells))
      fill(
        model,
        'g',
        links.map(({ child, parent }) => [child, parent]),
      )
    },
    savePolicy: refuse,
    addPolicy: refuse,
    removePolicy: refuse,
    removeFilteredPolicy: refuse,
  }
}

function cells(rule: Rule): string[] {
  return [rule.subject, rule.resource, rule.actions.join('|'), fitText(rule), rule.views.join('|'), rule.effect]
}

/** What `fits` reads of a rule: how its relation column fits depends on its effect. */
function fitText(rule: Rule): string {
  return `${rule.effect}:${relationColumnText(rule)}`
}

function heldText({ stored, mixed, proposed }: HeldNames): string {
  const sets = mixed && proposed ? [stored, mixed, proposed] : [stored]
  return sets.map((names) => names.join('+')).join('>')
}

function covers(ruleResource: string, resource: string): boolean {
  return ruleResource === resource || ruleResource === wildcardOf(resource)
}

function performs(ruleActions: string, action: string): boolean {
  return ruleActions === '*' || ruleActions.split('|').includes(action)
}

function fits(rule: string, held: string): boolean {
  const [effect, column = ''] = rule.split(':')
  const [before = '', after] = column.split('>')
  const parsed = { before: termsOf(before), ...(after === undefined ? {} : { after: termsOf(after) }) }
  const [stored = [], mixed, proposed] = held.split('>').map((names) => names.split('+'))
  const asked = { ...parsed, effect: effect as Rule['effect'] }
  return mixed && proposed ? fitsResult(asked, { stored, mixed, proposed }) : fitsObject(asked, stored)
}

function termsOf(side: string): readonly Term[] {
  if (side === 'any') return []
  return side.split('+').map((term) => ({ name: term.replace('!', ''), negated: term.startsWith('!') }))
}

function names(views: Views | undefined, ruleViews: string, field: string): boolean {
  return ruleViews === '*' || ruleViews.split('|').some((view) => views?.get(view)?.has(field) ?? false)
}
