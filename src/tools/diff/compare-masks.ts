/** masks.yaml: what decision records hold. Nobody may do more or less by it; who reads the log sees more or less. */

import type { Masks, Policy } from '../../decide/policy.ts'
import { say } from '../../present/phrase.ts'
import type { SettingChange } from './change.ts'
import type { Sides } from './decisions/relation-space.ts'

export function compareMasks(policies: Sides<Policy>): readonly SettingChange[] {
  const before = namesOf(policies.before.masks)
  const after = namesOf(policies.after.masks)
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

function namesOf({ fields, facts }: Masks): ReadonlySet<string> {
  return new Set([
    ...fields,
    ...[...facts].flatMap(([resource, names]) => [...names].map((name) => `${resource}.${name}`)),
  ])
}
