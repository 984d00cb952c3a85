/** Summarizes a change of the policy for one line of the log. */

import { changedPolicy } from '../../analysis/approvals/changed-policy.ts'
import { judgeApproved } from '../../analysis/approvals/judge.ts'
import { changeSentence, type Direction } from '../../analysis/diff/change.ts'
import type { Circumstances } from '../../analysis/diff/compare-decisions.ts'
import { countsOf, reportOn, sectionsOf } from '../../analysis/diff/compare-policies.ts'
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { PolicySources } from '../../policy/live/active-policy.ts'
import type { ApprovedChange, JudgeChange } from '../../policy/published/version-chain.ts'
import { plainText } from '../../present/phrase.ts'
import type { Resources } from '../../resources/resource.ts'
import type { SourceText } from '../../resources/schema/schema-file.ts'

const MOST_SENTENCES = 5

export interface ChangeSummary {
  readonly counts: Readonly<Record<Direction, number>>
  /** The first sentences of the diff, what widens first. */
  readonly sentences: readonly string[]
  /** How many more there are. */
  readonly more: number
}

/** Two versions of the policy files. */
export interface PolicyChange {
  readonly before: PolicySources
  readonly after: PolicySources
}

/** The data with which the comparing thread starts. */
export interface ThreadData {
  /** The schema files that the server runs with. */
  readonly schemas: readonly SourceText[]
}

/** An approved change, with the files of both versions. */
export interface JudgedSources extends Omit<ApprovedChange, 'before' | 'after'>, PolicyChange {}

export type ToCompareThread =
  | { readonly kind: 'compare'; readonly change: PolicyChange }
  | { readonly kind: 'judge'; readonly change: JudgedSources }

/** The answer of the thread. */
export type FromThread =
  | { readonly kind: 'compared'; readonly summary: ChangeSummary }
  | { readonly kind: 'judged'; readonly judged: Awaited<ReturnType<JudgeChange>> }
  | { readonly kind: 'faulty'; readonly diagnostics: readonly Diagnostic[]; readonly more: number }
  | { readonly kind: 'failed'; readonly reason: string }

/** Throws Incomparable for what can't be compared, and FileError for files that these schemas don't fit. */
export function summarize({ before, after }: PolicyChange, { resources, now }: Circumstances): ChangeSummary {
  const names = { before: 'before', after: 'after' }
  const sides = { before: reviewed(before, resources), after: reviewed(after, resources) }
  const report = reportOn(names, sides, { resources, now })
  const sentences = sectionsOf(report).flatMap(({ changes }) => changes.map((one) => plainText(changeSentence(one))))
  const shown = sentences.slice(0, MOST_SENTENCES)
  return { counts: countsOf(report), sentences: shown, more: sentences.length - shown.length }
}

/** Throws FileError for files that these schemas don't fit. */
export function judgeSources({ before, after, ...change }: JudgedSources, resources: Resources) {
  const reading = ({ files, blocked }: PolicySources) => ({
    files: () => files,
    blocked: () => blocked,
    refusal: undefined,
  })
  return judgeApproved({ ...change, before: reading(before), after: reading(after) }, resources)
}

function reviewed({ files, blocked }: PolicySources, resources: Resources) {
  return changedPolicy(files, blocked, resources)
}
