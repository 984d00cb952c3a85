/** What roles.yaml declares, and the fields that views cut routes to. What rules make of both is told by decisions. */
import type { Policy } from '../../decide/policy.ts'
import { listed, say } from '../../present/phrase.ts'
import type { Resources, Route } from '../../resources/resource.ts'
import type { SettingChange } from './change.ts'
import { type Sides, sidesOf } from './decisions/relation-space.ts'

export function compareRoles({ before, after }: Sides<Policy>): readonly SettingChange[] {
  const names = new Set([...before.roles.keys(), ...after.roles.keys()])
  return [...names].flatMap((name) => [
    ...compareRole(name, { before, after }),
    ...compareClaims(name, { before, after }),
  ])
}

function compareRole(name: string, { before, after }: Sides<Policy>): readonly SettingChange[] {
  const [old, now] = [before.roles.get(name), after.roles.get(name)]
  const base = { name, direction: 'neutral' } as const
  if (!old || !now) {
    const sentence = now ? say`role ${name} is declared` : say`role ${name} is no longer declared`
    return [{ ...base, kind: 'role', before: old !== undefined, after: now !== undefined, sentence }]
  }
  if (old.privileged === now.privileged) return []
  const sentence = now.privileged
    ? say`role ${name} is marked privileged`
    : say`role ${name} is no longer marked privileged`
  return [{ ...base, kind: 'privileged', before: old.privileged, after: now.privileged, sentence }]
}

/** Who holds the role without anything being changed here: whoever the OpenID provider says it of. */
function compareClaims(name: string, policies: Sides<Policy>): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => policies[side].roles.get(name)?.claims ?? [])
  const change = (direction: 'widening' | 'narrowing', values: readonly string[]): readonly SettingChange[] => {
    if (values.length === 0) return []
    const verb = direction === 'widening' ? say`comes with` : say`no longer comes with`
    const sentence = say`role ${name} ${verb} what the OpenID provider says: ${listed(values)}`
    return [{ kind: 'role-claims', direction, name, before, after, sentence }]
  }
  return [
    ...change(
      'widening',
      after.filter((value) => !before.includes(value)),
    ),
    ...change(
      'narrowing',
      before.filter((value) => !after.includes(value)),
    ),
  ]
}

/** A schema's route may name a view, which then decides what the route shows whatever rules grant. */
export function compareRouteViews(policies: Sides<Policy>, { routes }: Resources): readonly SettingChange[] {
  return routes.flatMap((route) => {
    const { view, resource } = route
    if (view === undefined) return []
    const { before, after } = sidesOf((side) => policies[side].views.get(resource)?.get(view) ?? new Set<string>())
    const fields = { before: [...before].sort(), after: [...after].sort() }
    return [
      ...showing(route, 'also shows', [...after.difference(before)], fields),
      ...showing(route, 'no longer shows', [...before.difference(after)], fields),
    ]
  })
}

function showing(
  { path, resource }: Route,
  verb: 'also shows' | 'no longer shows',
  fields: readonly string[],
  sides: Sides<readonly string[]>,
): readonly SettingChange[] {
  if (fields.length === 0) return []
  const words = verb === 'also shows' ? say`also shows` : say`no longer shows`
  const direction = verb === 'also shows' ? 'widening' : 'narrowing'
  const sentence = say`route ${path} ${words} ${fields.length === 1 ? say`field` : say`fields`} ${listed(fields)}`
  return [{ kind: 'route-view', direction, name: path, resource, ...sides, sentence }]
}
