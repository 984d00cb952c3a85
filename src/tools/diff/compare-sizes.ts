/** limits.yaml, the sizes: of a request body, of an object, of an answer, and of the pages of a list. */
import type { Limits, Policy } from '../../decide/policy.ts'
import { say } from '../../present/phrase.ts'
import type { SettingChange } from './change.ts'
import type { Sides } from './decisions/relation-space.ts'
import { sizeText } from './measure.ts'

export function compareSizes(policies: Sides<Policy>): readonly SettingChange[] {
  const [before, after] = [policies.before.limits, policies.after.limits]
  return [
    ...compareBytes('body', before.bodyBytes, after.bodyBytes),
    ...compareBytes('object', before.objectBytes, after.objectBytes),
    ...compareBytes('answer', before.answerBytes, after.answerBytes),
    ...compareMax(before, after),
    ...compareDefault(before, after),
  ]
}

function compareBytes(name: 'body' | 'object' | 'answer', old: number, now: number): readonly SettingChange[] {
  if (old === now) return []
  const [before, after] = [sizeText(old), sizeText(now)]
  const sentence = say`largest ${name} ${before} -> ${after}`
  return [{ kind: `${name}-size`, direction: growth(old, now), name, before, after, sentence }]
}

function compareMax({ page: old }: Limits, { page: now }: Limits): readonly SettingChange[] {
  if (old.max === now.max) return []
  const sentence = say`largest page ${old.max} -> ${now.max}`
  const direction = growth(old.max, now.max)
  return [{ kind: 'page-size', direction, name: 'max', before: old.max, after: now.max, sentence }]
}

/** A client may ask for the largest page anyway. */
function compareDefault({ page: old }: Limits, { page: now }: Limits): readonly SettingChange[] {
  if (old.default === now.default) return []
  const sentence = say`default page ${old.default} -> ${now.default}`
  return [
    { kind: 'page-size', direction: 'neutral', name: 'default', before: old.default, after: now.default, sentence },
  ]
}

function growth(before: number, after: number): 'widening' | 'narrowing' {
  return after > before ? 'widening' : 'narrowing'
}
