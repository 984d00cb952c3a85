/** A diff for programs; docs/schemas/policy-diff.schema.json fixes its shape. */
import { timeText } from '../../base/time.ts'
import { plainText } from '../../present/phrase.ts'
import { changeSentence, type DecisionChange, directionOf, type PolicyChange, type SettingChange } from './change.ts'
import { countsOf, type PolicyDiff } from './compare-policies.ts'

export function diffJson(report: PolicyDiff): string {
  const { names, sameText, changes } = report
  const json = {
    old: names.before,
    new: names.after,
    equivalent: changes.length === 0,
    sameText,
    counts: countsOf(report),
    changes: changes.map(changeJson),
  }
  return `${JSON.stringify(json, undefined, 2)}\n`
}

function changeJson(change: PolicyChange) {
  const common = { kind: change.kind, direction: directionOf(change), sentence: plainText(changeSentence(change)) }
  return { ...common, ...(change.kind === 'decision' ? decisionJson(change) : settingJson(change)) }
}

function decisionJson(change: DecisionChange) {
  const { effect, callers, unchanged, part, resources, actions, fields, scope, from, until } = change
  const what = { effect, callers, unchanged, part, resources, actions, fields: fields ?? null, scope: scope ?? null }
  return { ...what, from: momentJson(from), until: momentJson(until) }
}

function momentJson(moment: number | undefined): string | null {
  return moment === undefined ? null : timeText(moment)
}

function settingJson({ name, resource, before, after }: SettingChange) {
  return { name, ...(resource === undefined ? {} : { resource }), before, after }
}
