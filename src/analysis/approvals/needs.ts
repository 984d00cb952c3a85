/**
 * Whose approval a change of the policy needs, by what it means and by the files that it touches, as the approvals.yaml
 * before it says. Every instance computes this for itself, so it depends on the two versions alone: on no clock, log or
 * database.
 */

import type { ApprovalNeed, Approvals, TouchNeed } from '../../decide/policy.ts'
import { approvalsOf, approversFor } from '../../policy/parse/parse-approvals.ts'
import { BLOCKED_FILE } from '../../policy/policy-folder.ts'
import { plainText, say } from '../../present/phrase.ts'
import { namesText } from '../../present/quote.ts'
import { count } from '../../present/text.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Sides } from '../compared-space.ts'
import { Incomparable } from '../diff/compare-decisions.ts'
import type { ChangedPolicy } from './changed-policy.ts'
import { type ApprovalEffect, effectsOf } from './effects.ts'

/** Instances with other numbers may find other needs, so neither takes a version that was approved for the other. */
export const NEEDS_VERSION = 1

export interface FoundNeed extends ApprovalNeed {
  /** The first change that needs it, in words. */
  readonly because: string
}

/** Each must be met by itself; one person may count for several. Without approvals before it, a change needs nobody. */
export function needsOf(sides: Sides<ChangedPolicy>, resources: Resources): readonly FoundNeed[] {
  const approvals = approvalsOf(sides.before.files, resources)
  if (!approvals) return []
  const files = touchedFiles(sides)
  const found = comparedEffects(sides, resources)
  const effects = found && [...found, ...textEffects(found, files)]
  return [...byDirection(approvals, effects), ...byTouch(approvals, effects, files)].filter(({ people }) => people > 0)
}

type ApprovalEffects = readonly ApprovalEffect[] | undefined

/** Undefined for policies with too many relations or ends to compare: then the change may be anything. */
function comparedEffects(sides: Sides<ChangedPolicy>, resources: Resources): ApprovalEffects {
  try {
    return effectsOf(sides, resources)
  } catch (error) {
    if (error instanceof Incomparable) return undefined
    throw error
  }
}

/** Files that say what later versions may do, what records show, or where events go: a change of them may show more. */
const OPENING = ['approvals.yaml', 'guarantees.yaml', 'masks.yaml', 'subscriptions.yaml']

/**
 * Each changed text needs somebody: one that means the same as before, such as a comment, counts as narrowing, and in
 * blocked.txt as blocking.
 */
function textEffects(effects: readonly ApprovalEffect[], files: readonly string[]): readonly ApprovalEffect[] {
  const textOf = (way: ApprovalEffect['way'], is: (name: string) => boolean): readonly ApprovalEffect[] =>
    files.filter(is).map((name) => ({ way, sentence: say`the text of ${name} changes`, concerns: () => false }))
  const ways = new Set(effects.map(({ way }) => way))
  const isOpening = (name: string) => OPENING.includes(name)
  const isOfBlocks = (name: string) => name === BLOCKED_FILE
  return [
    ...textOf('widens', isOpening),
    ...(ways.isSubsetOf(new Set(['blocks'])) ? textOf('narrows', (name) => !isOpening(name) && !isOfBlocks(name)) : []),
    ...(ways.has('blocks') || ways.has('widens') ? [] : textOf('blocks', isOfBlocks)),
  ]
}

const TOO_MANY = 'the two versions have too many relations, or rules with an end, to compare'

function byDirection({ widens, narrows, blocks }: Approvals, effects: ApprovalEffects): readonly FoundNeed[] {
  if (!effects) return [widens, narrows, blocks].map((need) => ({ ...need, because: TOO_MANY }))
  const going = (...ways: readonly ApprovalEffect['way'][]) => effects.filter(({ way }) => ways.includes(way))
  return [
    ...because(widens, going('widens', 'either')),
    ...because(narrows, going('narrows', 'either')),
    ...because(blocks, going('blocks')),
  ]
}

function byTouch({ touches }: Approvals, effects: ApprovalEffects, files: readonly string[]): readonly FoundNeed[] {
  return touches.flatMap(({ resource, file, ...need }: TouchNeed) => {
    if (file) {
      const touched = file.filter((name) => files.includes(name))
      return touched.length === 0 ? [] : [{ ...need, because: `${namesText(touched, ' and ')} changed` }]
    }
    if (!effects) return [{ ...need, because: TOO_MANY }]
    return because(
      need,
      effects.filter(({ concerns }) => concerns(resource ?? '')),
    )
  })
}

function because(need: ApprovalNeed, [first, ...more]: readonly ApprovalEffect[]): readonly FoundNeed[] {
  if (!first) return []
  const others = more.length === 0 ? '' : `, and ${more.length} more`
  return [{ ...need, because: `${plainText(first.sentence)}${others}` }]
}

/** Also where only comments differ. */
function touchedFiles({ before, after }: Sides<ChangedPolicy>): readonly string[] {
  const [old, now] = [before, after].map(({ files, blockedFile }) => {
    const texts = Object.entries(files).map(([name, file]) => [name, file.text] as const)
    return new Map([...texts, [BLOCKED_FILE, blockedFile.text] as const])
  })
  const names = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])]
  return names.filter((name) => (old?.get(name) ?? '') !== (now?.get(name) ?? ''))
}

// ---- Who has approved -----------------------------------------------------------------------------------------------

export interface UnmetNeed extends FoundNeed {
  /** People who may still approve for it, by name. */
  readonly open: readonly string[]
  readonly missing: number
}

/** `approved`: the names of people, each once. The author counts for nothing. */
export function unmetNeeds(
  needs: readonly FoundNeed[],
  { people }: Approvals,
  { author, approved }: { readonly author: string; readonly approved: readonly string[] },
): readonly UnmetNeed[] {
  return needs.flatMap((need) => {
    const able = approversFor(need, people).filter((name) => name !== author)
    const given = able.filter((name) => approved.includes(name))
    const missing = need.people - given.length
    return missing > 0 ? [{ ...need, missing, open: able.filter((name) => !given.includes(name)) }] : []
  })
}

/** In characters: one change may name thousands of users, and the diff has them all. */
const LONGEST_REASON = 300

/** ``2 people of `security`, because member gains read on orders (any)``. */
export function needSentence({ people, from, because: why }: FoundNeed): string {
  const who = from ? ` of ${namesText(from, ' or ')}` : ''
  const cut = why.length > LONGEST_REASON ? `${why.slice(0, LONGEST_REASON)}…` : why
  return `${count(people, 'person', 'people')}${who}, because ${cut}`
}
