/**
 * Writes beyond reads by force: writes in random worlds that the oracle allows to callers who may read nothing of the
 * object. Each way is told as `tasks update`, and with the rule that is enough for it: `tasks update: a owner>!owner`.
 */

import { answer } from '../../policy/oracle/answer.ts'
import { onObject, subjects } from '../../policy/oracle.ts'
import type { OraclePolicy, OracleRule, World } from '../../policy/world.ts'
import { type Drawn, isFound, randomWrites, type Wanted } from './random-writes.ts'

export interface UnreadWay {
  readonly write: string
  /** Each of the groups of rules that alone is enough. */
  readonly alone: readonly string[]
  readonly subjects: ReadonlySet<string>
}

/** Rules of one subject with the same relation column. */
function groupOf({ subject, relations, after }: OracleRule): string {
  const side = (terms: readonly string[]) => (terms.length === 0 ? 'any' : terms.toSorted().join('+'))
  return `${subject} ${side(relations)}${after ? `>${side(after)}` : ''}`
}

export function* unreadWays(policy: OraclePolicy, seed: number, count: number): Iterable<UnreadWay> {
  for (const drawn of randomWrites(policy, seed, count, {})) {
    const way = wayOf(drawn, policy)
    if (way) yield way
  }
}

/** Whether a search finds such a write of this caller; with a `way`, by that group of rules alone. */
export function isShown(policy: OraclePolicy, seed: number, wanted: Wanted, way: string | undefined): boolean {
  return isFound(policy, seed, wanted, (drawn) => {
    const unread = isUnread(drawn)
    const isFit = unread && isAllowed(drawn, policy)
    return [unread, isFit, isFit && (way === undefined || wayOf(drawn, policy)?.alone.includes(way) === true)]
  })
}

function wayOf(drawn: Drawn, policy: OraclePolicy): UnreadWay | undefined {
  const { world, request } = drawn
  const { action } = request
  // Nothing is there to read before a create, and no GET stands beside the path of a claim.
  if (action === 'create' || action === 'claim' || !isUnread(drawn) || !isAllowed(drawn, policy)) return undefined
  const write = `${world.resource.name} ${action}`
  const asked = subjects(world)
  const groups = new Set(policy.rules.filter((rule) => isAllow(rule, action) && asked.has(rule.subject)).map(groupOf))
  const alone = [...groups].filter((group) => isAllowed(drawn, only(policy, action, group)))
  return { write, alone: alone.map((group) => `${write}: ${group}`), subjects: asked }
}

function isUnread({ world, request }: Drawn): boolean {
  const stored = storedIn(world, request.id)
  return stored !== undefined && onObject(world, 'read', stored).size === 0
}

function storedIn({ objects, resource }: World, id: string | undefined) {
  return objects?.get(resource.name)?.find((one) => one.id === id)
}

function isAllowed({ world, request }: Drawn, policy: OraclePolicy): boolean {
  return answer({ ...world, policy }, request).status < 300
}

function isAllow({ effect, actions }: OracleRule, action: string): boolean {
  return effect === 'allow' && (actions.includes('*') || actions.includes(action))
}

/** The policy in which one group alone allows an action. */
function only(policy: OraclePolicy, action: string, group: string): OraclePolicy {
  const rules = policy.rules.flatMap((rule) => {
    if (!isAllow(rule, action) || groupOf(rule) === group) return [rule]
    const actions = (rule.actions.includes('*') ? ALL : rule.actions).filter((one) => one !== action)
    return actions.length > 0 ? [{ ...rule, actions }] : []
  })
  return { ...policy, rules }
}

const ALL = ['list', 'read', 'create', 'replace', 'update', 'delete', 'options', 'claim']
