/**
 * The server's own decision, alone: who the caller is to the policy, what the table says, how the caller relates to the
 * object. The same module serves the peers' `engines.mjs --extra`.
 */
import { onceKnown } from '../../src/base/now-or-later.ts'
import { MODEL } from '../../src/decide/casbin/model.ts'
import type { GrantTable } from '../../src/decide/grants/grant-table.ts'
import { relationsOf } from '../../src/decide/relations/ownership.ts'
import { askingAs } from '../../src/decide/relations/relation-kind.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import { Snapshots } from '../../src/decide/rules/snapshots.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../src/policy/policy-files.ts'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Resource, Resources } from '../../src/resources/resource.ts'
import { schemaOf } from '../fixture/policy-files.ts'
import type { Engine, EngineRule, Question } from './questions.ts'

const LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'

export function setup(rules: readonly EngineRule[]): Engine {
  const resources = makeResources([...new Set(rules.map(({ resource }) => resource))])
  const snapshots = new Snapshots(packPolicy(parsePolicy(filesOf(rules), resources)), resources)
  const callers = new Map(['member', 'admin'].map((role) => [role, callerOf(role)]))
  return {
    decide: ({ role, resource, action, owner }: Question) => {
      const snapshot = snapshots.at(0)
      const caller = callers.get(role)
      const asking = askingAs(caller ? { id: caller.id } : {}, 0)
      const answer = (table: GrantTable) => {
        const relations = relationsOf(snapshot.ownershipOf(resource), asking, { ownerId: owner })
        return table.grant(relations).fields.size > 0
      }
      return onceKnown(snapshot.table(snapshot.subjectOf(caller), resource, action), answer)
    },
  }
}

/** As a remembered token gives it, the same object with every request. */
function callerOf(role: string) {
  return { id: role === 'admin' ? 'u0' : 'u7', roles: [role], claims: {} }
}

/** Copies of one, which is compiled once: the decision doesn't look at the schema. */
function makeResources(names: readonly string[]): Resources {
  const { byName } = parseResources([{ name: 'thing.json', text: JSON.stringify(schemaOf('thing')) }])
  const like = byName.get('thing')
  if (!like) throw new Error('the resource to copy is missing')
  const made = new Map<string, Resource>(names.map((name) => [name, { ...like, name }]))
  return { byName: made, routes: [] }
}

function filesOf(rules: readonly EngineRule[]): PolicyFiles {
  const roles = new Set(rules.map(({ role }) => role))
  const resources = new Set(rules.map(({ resource }) => resource))
  const texts = {
    'model.conf': MODEL,
    'policy.csv': rules.map(lineOf).join('\n'),
    'roles.yaml': [...roles].map((role) => `${role}:\n  description: A role.\n  privileged: true\n`).join(''),
    'ownership.yaml': [...resources].map((name) => `${name}:\n  relations:\n    owner: ownerId\n`).join(''),
    'views.yaml': '',
    'limits.yaml': LIMITS,
  }
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, { name, text }]),
  ) as unknown as PolicyFiles
}

function lineOf({ role, resource, action, own }: EngineRule): string {
  return `p, ${role}, ${resource}, ${action}, ${own ? 'owner' : 'any'}, *, allow`
}
