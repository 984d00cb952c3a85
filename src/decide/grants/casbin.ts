/**
 * The only file that uses Casbin. It creates an enforcer from parsed rules, and asks it. Input that Casbin would
 * silently misread (test/policy/casbin-facts.test.ts) never reaches it.
 */
import { type Adapter, type Model, newEnforcer, newModelFromString } from 'casbin'
import type { Action, Resource, Resources } from '../../resources/resource.ts'
import type { Rule, Views } from '../policy.ts'
import type { PackedPolicy } from '../rules/rule-table.ts'
import { LivingRules } from '../rules/unexpired-rules.ts'
import { Snapshot } from '../snapshot.ts'
import type { IsGranted } from './grant.ts'
import { MODEL } from './model.ts'

/** No rule names this subject, so the caller of an enforcer has no grants of its own (roles contain no colon). */
const CALLER = 'caller:'

/**
 * A snapshot whose cells Casbin computes, with the rules that are in force at a time (milliseconds since the epoch).
 */
export function casbinPolicy(policy: PackedPolicy, resources: Resources, now = Number.NEGATIVE_INFINITY): Snapshot {
  const enforcers = new Map<string, Promise<Ask>>()
  const enforcerOf = (subjects: readonly string[], { name }: Resource, rules: readonly Rule[]): Promise<Ask> => {
    const key = JSON.stringify([name, subjects])
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
    async granter(subjects, resource, rules) {
      const ask = await enforcerOf(subjects, resource, rules)
      return (action) => askedOf(ask, resource, action)
    },
  })
}

function askedOf(ask: Ask, resource: Resource, action: Action): IsGranted {
  return (field, relations) => ask({ subject: CALLER, resource: resource.name, action: action.name, relations, field })
}

/** A request to Casbin: relations are joined with `+`, in any order. */
interface CasbinRequest {
  readonly subject: string
  readonly resource: string
  readonly action: string
  readonly relations: readonly string[]
  readonly field: string
}

type Ask = (request: CasbinRequest) => boolean

/** `child` inherits from `parent`: a Casbin `g` line. */
interface Link {
  readonly child: string
  readonly parent: string
}

/**
 * Makes an enforcer that holds these rules and links. Casbin is never asked about an empty rule set, which denies
 * everything.
 */
export async function createEnforcer(
  rules: readonly Rule[],
  links: readonly Link[],
  views: ReadonlyMap<string, Views>,
): Promise<Ask> {
  if (rules.length === 0) return () => false
  const enforcer = await newEnforcer(newModelFromString(MODEL), adapterOf(rules, links))
  await enforcer.addFunction('covers', covers)
  await enforcer.addFunction('performs', performs)
  await enforcer.addFunction('fits', fits)
  await enforcer.addFunction('names', (fields: string, resource: string, field: string) =>
    names(views.get(resource), fields, field),
  )
  return ({ subject, resource, action, relations, field }) =>
    enforcer.enforceSync(subject, resource, action, relations.join('+'), field) === true
}

/** Adds the rules to Casbin's model. Casbin's CSV reader is not used: see casbin-facts.test.ts. */
function adapterOf(rules: readonly Rule[], links: readonly Link[]): Adapter {
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
  const relation = rule.relations.length === 0 ? 'any' : rule.relations.join('+')
  return [rule.subject, rule.resource, rule.actions.join('|'), relation, rule.views.join('|'), rule.effect]
}

function covers(ruleResource: string, resource: string): boolean {
  if (ruleResource === resource) return true
  return resource.startsWith('system/') ? ruleResource === 'system/*' : ruleResource === '*'
}

function performs(ruleActions: string, action: string): boolean {
  return ruleActions === '*' || ruleActions.split('|').includes(action)
}

function fits(ruleRelations: string, relations: string): boolean {
  if (ruleRelations === 'any') return true
  const held = relations.split('+')
  return ruleRelations.split('+').every((name) => held.includes(name))
}

function names(views: Views | undefined, ruleViews: string, field: string): boolean {
  return ruleViews === '*' || ruleViews.split('|').some((view) => views?.get(view)?.has(field) ?? false)
}
