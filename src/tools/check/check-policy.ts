/** Checks the files of a policy: errors, which the server would refuse, and warnings, which are probably mistakes. */

import { TooManyRegions } from '../../analysis/regions.ts'
import type { SourceFile } from '../../base/diagnostic.ts'
import { byPlace, type Diagnostic, type FileError, MOST_FAULTS } from '../../base/diagnostic.ts'
import type { Policy } from '../../decide/policy.ts'
import { findFormerWords, withoutFormerWords } from '../../policy/former-words.ts'
import { readBlocks } from '../../policy/parse/parse-blocked.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import { findCutOff } from '../../policy/parse/rule-lines.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import type { PolicyReading } from '../../policy/policy-source.ts'
import { type FindingReport, findingFormats } from '../../present/findings.ts'
import type { Resources } from '../../resources/resource.ts'
import { checkGuarantees } from '../guarantees/check-guarantees.ts'
import { loadPolicy, orFaults, type PolicyPlace, readPlace, ToolError } from '../load-policy.ts'
import { replaceAll } from '../release/folder/replace-all.ts'
import { codesExplained, findInBlocked, findInPolicy, WARNINGS } from './catalogue.ts'
import { checkedPolicy, type PolicyParts } from './check.ts'
import { applySuppressions, readSuppressions, unusedSuppression } from './suppressions.ts'

export const CHECK_FORMATS = findingFormats('policy check', codesExplained)

export interface CheckOptions {
  readonly policies: PolicyPlace
  readonly resources: Resources
  /** The ids of the users that exist; undefined without --directory. */
  readonly users: ReadonlySet<string> | undefined
  /** The time to check for: rules and blocks may have ended then. */
  readonly now: Date
  /** The policy in force has the line that marks its end, so a policy without this line counts as cut off. */
  readonly endKnown?: boolean
}

/** Some files, and the findings in them. */
interface Files {
  readonly sources: readonly SourceFile[]
  readonly findings: readonly Diagnostic[]
  /** How many further errors there are that `findings` doesn't hold. */
  readonly more: number
  /** The codes that were looked for: a suppression of one of them is redundant if it suppressed nothing. */
  readonly lookedFor: ReadonlySet<string>
  readonly beside?: FindingReport['beside']
}

/**
 * Writes the new names in place of former words, in all files or in none. Returns how many words it replaced, by file. A
 * policy with faults stays as it is: the check finds them. Throws ToolError.
 */
export async function fixFormerWords(place: PolicyPlace, resources: Resources): Promise<ReadonlyMap<string, number>> {
  if (typeof place !== 'string') {
    throw new ToolError('`--fix` changes a folder: write the version to one with `sallyport policy export DIR`')
  }
  const loaded = await attempt(() => loadPolicy(place, resources))
  if ('faults' in loaded) return new Map()
  const { files } = loaded.value
  const words = Map.groupBy(findFormerWords(files), ({ file }) => file)
  const changed = Object.entries(files).flatMap(([name, source]) => {
    const found = words.get(source.name)
    return found ? [{ name, text: withoutFormerWords(source.text, found) }] : []
  })
  await replaceAll(place, changed)
  return new Map([...words].map(([file, found]) => [file, found.length]))
}

/** Faults of the files are findings; other errors are thrown, such as ToolError without a directory. */
export async function checkPolicy(options: CheckOptions): Promise<FindingReport> {
  const reading = await readPlace(options.policies)
  const parts = await Promise.all([policyPart(reading, options), blockedPart(reading, options)])
  const judged = parts.map(withoutSuppressed)
  const findings = judged.flatMap((one) => one.findings)
  const errors = findings.filter(({ severity }) => severity === 'error').toSorted(byPlace)
  const warnings = findings.filter(({ severity }) => severity !== 'error').toSorted(byPlace)
  const shown = [...errors, ...warnings].slice(0, MOST_FAULTS)
  const more = parts.reduce((sum, part) => sum + part.more, 0)
  return {
    findings: shown.toSorted(byPlace),
    errors: errors.length + more,
    warnings: warnings.length,
    more: findings.length - shown.length + more,
    suppressed: judged.reduce((sum, { suppressed }) => sum + suppressed, 0),
    sources: new Map(parts.flatMap(({ sources }) => sources.map(({ name, text }) => [name, text]))),
    beside: parts.find(({ beside }) => beside)?.beside ?? { text: [], json: { guarantees: [] } },
  }
}

async function policyPart(reading: PolicyReading, options: CheckOptions): Promise<Files> {
  const { policies, resources, users, now, endKnown } = options
  const files = await attempt<PolicyFiles>(() => reading.files())
  if ('faults' in files) return faultyPart([], files)
  const sources = Object.values(files.value)
  const cutOff = endKnown ? findCutOff(files.value['policy.csv']) : undefined
  if (cutOff) return { sources, findings: [cutOff], more: 0, lookedFor: new Set() }
  const policy = await attempt<Policy>(() => parsePolicy(files.value, resources))
  if ('faults' in policy) return faultyPart(sources, policy)
  const parts = { written: policy.value, now: now.getTime(), resources, files: files.value, directory: users }
  const { findings, undecided } = findDecided(parts)
  const refusal = reading.refusal ? [reading.refusal] : []
  const named = typeof policies === 'string' ? policies : policies.name
  const guarantees = await checkGuarantees({ ...parts, policy: policy.value, now: parts.now, named })
  // What wasn't looked at may need its suppressions.
  const lookedFor = undecided.size > 0 ? new Set<string>() : codesLookedFor(users)
  const all = [...refusal, ...findings, ...guarantees.findings]
  return { sources, findings: all, more: 0, lookedFor, beside: guarantees.beside }
}

/** Begins again without each resource whose rules tell too many situations apart; the findings name these resources. */
function findDecided(
  parts: PolicyParts,
  undecided: ReadonlySet<string> = new Set(),
): { readonly findings: readonly Diagnostic[]; readonly undecided: ReadonlySet<string> } {
  try {
    return { findings: findInPolicy(checkedPolicy(parts, undecided)), undecided }
  } catch (error) {
    if (!(error instanceof TooManyRegions)) throw error
    return findDecided(parts, new Set([...undecided, error.about]))
  }
}

async function blockedPart(reading: PolicyReading, { users, now }: CheckOptions): Promise<Files> {
  const file = await attempt(() => reading.blocked())
  if ('faults' in file) return faultyPart([], file)
  const sources = [file.value]
  const blocks = await attempt(() => readBlocks(file.value))
  if ('faults' in blocks) return faultyPart(sources, blocks)
  const checked = { file: file.value, blocks: blocks.value, directory: users, now: now.getTime() }
  return { sources, findings: findInBlocked(checked), more: 0, lookedFor: codesLookedFor(users) }
}

function withoutSuppressed({ sources, findings, lookedFor }: Files): Pick<FindingReport, 'findings' | 'suppressed'> {
  const read = sources.map((source) => readSuppressions(source, WARNINGS))
  const suppressions = read.flatMap((one) => one.suppressions)
  const { kept, suppressed, unused } = applySuppressions(findings, suppressions)
  const redundant = unused.filter(({ code }) => lookedFor.has(code)).map(unusedSuppression)
  return { findings: [...kept, ...read.flatMap(({ faults }) => faults), ...redundant], suppressed }
}

/** Files with errors: no other check looks at them. */
function faultyPart(sources: readonly SourceFile[], { faults: { diagnostics, more } }: Faulty): Files {
  return { sources, findings: diagnostics, more, lookedFor: new Set() }
}

interface Faulty {
  readonly faults: FileError
}

type LoadAttempt<T> = { readonly value: T } | Faulty

function attempt<T>(work: () => T | Promise<T>): Promise<LoadAttempt<T>> {
  return orFaults<LoadAttempt<T>, Faulty>(
    async () => ({ value: await work() }),
    (faults) => ({ faults }),
  )
}

/** Without a directory the check finds no unknown users, so no suppression of `unknown-user` counts as redundant. */
function codesLookedFor(users: ReadonlySet<string> | undefined): ReadonlySet<string> {
  return users ? WARNINGS : WARNINGS.difference(new Set(['unknown-user']))
}
