/**
 * What differs between two policies, as `policy diff` finds it: decisions, and settings that count for requests. Nothing
 * is the proof that they answer every request alike. `matrix mutate` and `matrix coverage` ask the same question.
 */

import type { Sides } from '../../../analysis/compare.ts'
import { changeSentence, type SettingChange } from '../../../analysis/diff/change.ts'
import {
  type ChangedDecision,
  type Circumstances,
  changedDecisions,
  compareDecisions,
} from '../../../analysis/diff/compare-decisions.ts'
import { compareConditions, compareRelations } from '../../../analysis/diff/compare-meanings.ts'
import { compareRouteViews } from '../../../analysis/diff/compare-settings.ts'
import type { Policy } from '../../../decide/policy.ts'
import { isAbout } from '../../../decide/rules/terms.ts'
import { plainText } from '../../../present/phrase.ts'

export interface DecidedOtherwise {
  readonly decisions: readonly ChangedDecision[]
  readonly settings: readonly SettingChange[]
}

/** Undefined for policies that are proven to decide every request about these resources alike. */
export function findDifference(
  policies: Sides<Policy>,
  circumstances: Circumstances,
  covers: (resource: string) => boolean = () => true,
): DecidedOtherwise | undefined {
  const { resources } = circumstances
  const decisions = [...changedDecisions(policies, circumstances, covers)]
  const settings = [
    ...compareConditions(policies),
    ...[compareRelations, compareRouteViews]
      .flatMap((compare) => compare(policies, resources))
      .filter(({ resource }) => resource === undefined || covers(resource)),
  ].filter((setting) => setting.direction !== 'neutral' && !isOfNoObject(policies, setting, circumstances))
  return decisions.length + settings.length === 0 ? undefined : { decisions, settings }
}

/** What a new object is filled with counts only where a rule is about creating objects. */
function isOfNoObject(
  policies: Sides<Policy>,
  { kind, resource: name = '' }: SettingChange,
  { resources }: Circumstances,
) {
  const resource = resources.byName.get(name)
  const action = resource?.actions.get('create')
  if ((kind !== 'fill' && kind !== 'owner') || !resource || !action) return false
  const rules = [...policies.before.rules, ...policies.after.rules]
  return !rules.some((rule) => isAbout(rule, { resource, action }))
}

/** The differences in sentences, as `policy diff` says them. */
export function differenceText(policies: Sides<Policy>, circumstances: Circumstances, { settings }: DecidedOtherwise) {
  const changes = [...compareDecisions(policies, circumstances), ...settings]
  return changes.map((change) => plainText(changeSentence(change)))
}
