/**
 * The columns of a matrix: anonymous, each role, and each user that a rule names. If these don't show a rule's effect:
 * also a caller without a role, and pairs of roles in which one role denies what the other allows.
 */

import { namedRelations, possibleSets } from '../../../analysis/possible-sets.ts'
import { concernsObject, type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import { type DirectPolicy, directPolicy } from '../../../decide/grants/direct.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import type { Resources } from '../../../resources/resource.ts'
import { callerIn, type MatrixColumn } from '../read/expectation.ts'

export interface AskedColumn {
  readonly column: MatrixColumn
  /** Whether this column's answer may differ from those of all other columns there. */
  readonly concerns: (routeMethod: RouteMethod) => boolean
}

interface ColumnSources {
  readonly policy: Policy
  readonly resources: Resources
  readonly grants: DirectPolicy
  /** One route method for each resource and action. */
  readonly routeMethods: ReadonlyMap<string, RouteMethod>
}

type SpotKeys = ReadonlySet<string>

interface ColumnKinds {
  /** Without credentials, and with each role alone. */
  readonly usual: readonly MatrixColumn[]
  /** With credentials and without a role. */
  readonly nobody: MatrixColumn
  /** Each user that a rule names. */
  readonly users: readonly MatrixColumn[]
  /** Each two roles together. */
  readonly pairs: readonly MatrixColumn[]
}

/** Every column that rules of these policies could tell from others. */
export function columnKinds(policies: readonly Policy[]): ColumnKinds {
  const names = [...new Set(policies.flatMap((policy) => [...policy.roles.keys()]))]
  const subjects = new Set(policies.flatMap(({ rules }) => rules.map(({ subject }) => subject)))
  const users = [...subjects].filter((subject) => subject.startsWith('user:'))
  return {
    usual: [{ kind: 'anonymous' }, ...names.map((name) => roles(name))],
    nobody: roles(),
    users: users.map((user) => ({ kind: 'user', id: user.slice('user:'.length) })),
    pairs: names.flatMap((one, i) => names.slice(i + 1).map((other) => roles(one, other))),
  }
}

/** `policy` must not contain expired rules. */
export function askedColumns(policy: Policy, resources: Resources): readonly AskedColumn[] {
  const routeMethods = new Map(routeMethodsOf(resources).map((routeMethod) => [keyOf(routeMethod), routeMethod]))
  const context = { policy, resources, grants: directPolicy(policy, resources), routeMethods }
  const { usual, nobody, users, pairs } = columnKinds([policy])
  const single: readonly (readonly [MatrixColumn, SpotKeys])[] = [
    [nobody, keysWhere(context, (routeMethod) => showsAlone(context, routeMethod, nobody, usual))],
    ...users.map((user) => [user, keysWhere(context, ({ resource }) => isNamed(context, user, resource))] as const),
  ]
  const asked = [...single, ...pairsOf(context, [...usual, nobody, ...users], pairs)]
  return [
    ...usual.map((column) => ({ column, concerns: () => true })),
    ...asked
      .filter(([, keys]) => keys.size > 0)
      .map(([column, keys]) => ({ column, concerns: (routeMethod: RouteMethod) => keys.has(keyOf(routeMethod)) })),
  ]
}

function keyOf({ resource, action }: Pick<RouteMethod, 'resource' | 'action'>): string {
  return `${resource.name} ${action.name}`
}

function keysWhere({ routeMethods }: ColumnSources, fits: (routeMethod: RouteMethod) => boolean): SpotKeys {
  return new Set([...routeMethods].flatMap(([key, routeMethod]) => (fits(routeMethod) ? [key] : [])))
}

function roles(...names: readonly string[]): MatrixColumn {
  return { kind: 'roles', roles: names.toSorted() }
}

function tableOf(
  grants: DirectPolicy,
  column: MatrixColumn,
  { resource, action }: Pick<RouteMethod, 'resource' | 'action'>,
) {
  return grants.table(grants.subjectOf(callerIn(column)), resource.name, action.name)
}

/** The rules that could match for a caller of this column. */
function rulesAt(
  { grants }: ColumnSources,
  column: MatrixColumn,
  routeMethod: Pick<RouteMethod, 'resource' | 'action'>,
): readonly Rule[] {
  return tableOf(grants, column, routeMethod).roleLevel(() => column.kind !== 'anonymous').rules
}

/** Whether a rule about the resource names the user. */
function isNamed(context: ColumnSources, user: MatrixColumn, resource: RouteMethod['resource']): boolean {
  return [...resource.actions.values()].some((action) =>
    rulesAt(context, user, { resource, action }).some(({ subject }) => subject.startsWith('user:')),
  )
}

/** Whether no other column has exactly the rules for everybody. */
function showsAlone(
  context: ColumnSources,
  routeMethod: RouteMethod,
  nobody: MatrixColumn,
  usual: readonly MatrixColumn[],
): boolean {
  const rules = rulesAt(context, nobody, routeMethod)
  const isSame = (others: readonly Rule[]) =>
    others.length === rules.length && rules.every((rule) => others.includes(rule))
  return rules.length > 0 && !usual.some((column) => isSame(rulesAt(context, column, routeMethod)))
}

/** For each deny that no single caller shows at some resource and action: the first two roles that show it. */
function pairsOf(
  context: ColumnSources,
  single: readonly MatrixColumn[],
  pairs: readonly MatrixColumn[],
): readonly (readonly [MatrixColumn, SpotKeys])[] {
  const { policy, resources, grants, routeMethods } = context
  const chosen = new Map<MatrixColumn, Set<string>>()
  for (const deny of policy.rules.filter(({ effect }) => effect === 'deny')) {
    const without = directPolicy({ ...policy, rules: policy.rules.filter((rule) => rule !== deny) }, resources)
    for (const [key, routeMethod] of routeMethods) {
      if (
        !grants
          .table(grants.anybody, routeMethod.resource.name, routeMethod.action.name)
          .roleLevel(() => true)
          .rules.includes(deny)
      )
        continue
      const sets = setsAt(policy, routeMethod)
      const shows = (column: MatrixColumn) => {
        const [before, after] = [grants, without].map((one) => tableOf(one, column, routeMethod))
        return sets.some(
          (set) => (after?.grant([...set]).fields.size ?? 0) > (before?.grant([...set]).fields.size ?? 0),
        )
      }
      const pair = single.some(shows) ? undefined : pairs.find(shows)
      if (pair) chosen.set(pair, (chosen.get(pair) ?? new Set()).add(key))
    }
  }
  return pairs.flatMap((pair) => {
    const keys = chosen.get(pair)
    return keys ? [[pair, keys] as const] : []
  })
}

function setsAt(policy: Policy, routeMethod: RouteMethod): readonly ReadonlySet<string>[] {
  return possibleSets(
    concernsObject(routeMethod) ? namedRelations(policy, routeMethod.resource, routeMethod.action) : [],
    routeMethod.resource,
  )
}
