/** views.yaml where routes use it, and masks.yaml: which fields routes show, and which fields decision records hold. */

import type { Masks, Policy } from '../../decide/policy.ts'
import { listed, say } from '../../present/phrase.ts'
import type { Resources, Route } from '../../resources/resource.ts'
import { type Sides, sidesOf } from '../compare.ts'
import type { SettingChange } from './change.ts'

/** The view of a route limits what the route shows, whatever rules grant. */
export function compareRouteViews(policies: Sides<Policy>, { routes }: Resources): readonly SettingChange[] {
  return routes.flatMap((route) => {
    const { view, resource } = route
    if (view === undefined) return []
    const { before, after } = sidesOf((side) => policies[side].views.get(resource)?.get(view) ?? new Set<string>())
    const fields = { before: [...before].sort(), after: [...after].sort() }
    return [
      ...compareShown(route, 'widening', after.difference(before), fields),
      ...compareShown(route, 'narrowing', before.difference(after), fields),
    ]
  })
}

function compareShown(
  { path, resource }: Route,
  direction: 'widening' | 'narrowing',
  fields: ReadonlySet<string>,
  sides: Sides<readonly string[]>,
): readonly SettingChange[] {
  if (fields.size === 0) return []
  const verb = direction === 'widening' ? say`also shows` : say`no longer shows`
  const sentence = say`route ${path} ${verb} ${fields.size === 1 ? say`field` : say`fields`} ${listed([...fields])}`
  return [{ kind: 'route-view', direction, name: path, resource, ...sides, sentence }]
}

/** Masks change what readers of the log see. They change no decision. */
export function compareMasks(policies: Sides<Policy>): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => maskNames(policies[side].masks))
  const change = (name: string, was: boolean): SettingChange => ({
    kind: 'mask',
    direction: 'neutral',
    name,
    before: was,
    after: !was,
    sentence: was ? say`decision records hold ${name} from now on` : say`decision records mask ${name} from now on`,
  })
  return [
    ...[...before.difference(after)].map((name) => change(name, true)),
    ...[...after.difference(before)].map((name) => change(name, false)),
  ]
}

function maskNames({ fields, facts }: Masks): ReadonlySet<string> {
  const ofFacts = [...facts].flatMap(([resource, names]) => [...names].map((name) => `${resource}.${name}`))
  return new Set([...fields, ...ofFacts])
}
