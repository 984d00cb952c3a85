/** Casbin as its documentation says to use it: the shipped model file, every rule, real `g` links. No index, no cells. */
import { type Enforcer, newEnforcer, newModelFromString } from 'casbin'
import { ruleCells, SHIPPED_MODEL } from './render.ts'
import type { OraclePolicy, OracleRule, World } from './world.ts'

/** `options` concerns no object, so rules that name a relation aren't asked. */
function concerns({ relations, until = Number.POSITIVE_INFINITY }: OracleRule, action: string, now: number): boolean {
  return until > now && (action !== 'options' || relations.length === 0)
}

/** The fields that Casbin allows the caller. A caller is a name of its own that inherits the caller's subjects. */
export async function fullCasbin({ policy: written, resource, caller, now = 0 }: World, action: string) {
  const policy = { ...written, rules: written.rules.filter((rule) => concerns(rule, action, now)) }
  const enforcer = await enforcerOf(policy)
  const { id, roles } = caller
  const known = roles.filter((role) => policy.roles.includes(role))
  for (const subject of ['everyone', id === undefined ? 'anonymous' : `user:${id}`, ...known]) {
    await enforcer.addGroupingPolicy('the caller', subject)
  }
  const fields = resource.withoutFields.includes(action) ? ['*'] : resource.fields
  return (relations: ReadonlySet<string>): ReadonlySet<string> => {
    // Without rules Casbin evaluates the matcher against empty strings: nothing to compare with.
    if (policy.rules.length === 0) return new Set()
    const held = [...relations].join('+')
    return new Set(fields.filter((field) => enforcer.enforceSync('the caller', resource.name, action, held, field)))
  }
}

async function enforcerOf({ rules, links, views }: OraclePolicy): Promise<Enforcer> {
  const enforcer = await newEnforcer(newModelFromString(SHIPPED_MODEL))
  for (const rule of rules) await enforcer.addPolicy(...ruleCells(rule).slice(1))
  for (const { role, inherits } of links) await enforcer.addGroupingPolicy(role, inherits)
  const oneOf = (cell: string, separator: string, all: string, name: string) =>
    cell === all || cell.split(separator).includes(name)
  await enforcer.addFunction('covers', (cell: string, resource: string) => {
    return cell === resource || cell === (resource.startsWith('system/') ? 'system/*' : '*')
  })
  await enforcer.addFunction('performs', (cell: string, action: string) => oneOf(cell, '|', '*', action))
  await enforcer.addFunction('fits', (cell: string, held: string) => {
    return cell === 'any' || new Set(cell.split('+')).isSubsetOf(new Set(held.split('+')))
  })
  await enforcer.addFunction('names', (cell: string, resource: string, field: string) => {
    return cell === '*' || cell.split('|').some((view) => views.get(resource)?.get(view)?.includes(field))
  })
  return enforcer
}
