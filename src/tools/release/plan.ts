/**
 * Plans a change of the policy, or the return to a version: its faults, the decisions that would differ, and the users
 * that it blocks.
 */
import { realpath } from 'node:fs/promises'
import { type PolicyDiff, reportOn } from '../../analysis/diff/compare-policies.ts'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { type Blocked, parseBlocked } from '../../policy/parse/parse-blocked.ts'
import { END, saysItsEnd } from '../../policy/parse/rule-lines.ts'
import { findUnknownFiles, readBlockedFile } from '../../policy/policy-files.ts'
import type { FindingReport } from '../../present/findings.ts'
import type { Resources } from '../../resources/resource.ts'
import { checkPolicy } from '../check/check-policy.ts'
import { loadPolicy, orFaults, refuseNoDirectory, ToolError } from '../load-policy.ts'
import { withTemporaryFiles } from '../temporary-files.ts'
import { withBlocks } from './block-lines.ts'
import { digestOf, type PolicyContent, readContent } from './content.ts'
import type { ReleaseTarget } from './target.ts'
import type { PolicyVersion } from './version.ts'

const RULES = 'policy.csv'

export interface ReleasePlan extends PlannedFiles {
  readonly target: ReleaseTarget
}

export interface PlannedFiles {
  readonly content: PolicyContent
  /** Faults and warnings of the new files. */
  readonly check: FindingReport
  /** Undefined if the files can't be compared, because a server would refuse those in force or the new ones. */
  readonly diff: PolicyDiff | undefined
  /** Lines of blocked.txt that the new files have and those in force lack. */
  readonly blocks: readonly string[]
  /** The digest of the files in force. */
  readonly over: string
  /** The rules wouldn't change. */
  readonly sameRules: boolean
}

export interface PlanOptions {
  readonly target: ReleaseTarget
  readonly resources: Resources
  readonly now: Date
}

/** The plan for applying another directory. Throws ToolError. */
export async function planApply(candidate: string, options: PlanOptions): Promise<ReleasePlan> {
  const { folder } = options.target
  await refuseNoDirectory(candidate)
  await refuseNoDirectory(folder)
  if ((await realpath(candidate)) === (await realpath(folder))) {
    throw new ToolError(`${candidate} is the directory in force: prepare the change in a copy of it`)
  }
  return { target: options.target, ...(await planFrom(candidate, candidate, options)) }
}

/** The plan for a rollback to the files of a version; blocked.txt stays the current one. */
async function planReturn(version: PolicyVersion, content: PolicyContent, options: PlanOptions): Promise<ReleasePlan> {
  const whole = saysEnd(await readContent(options.target.folder)) ? withEnd(content) : content
  // A rollback must not depend on blocked.txt, which may be the broken file.
  return withTemporaryFiles([...whole, ['blocked.txt', '']], async (folder) => {
    const plan = await planFrom(folder, `version ${version.number}`, options)
    return { ...plan, target: options.target, check: relocated(plan.check, folder, options.target.placeOf(version)) }
  })
}

function saysEnd(content: PolicyContent): boolean {
  return saysItsEnd(String(Buffer.from(content.get(RULES) ?? [])))
}

/**
 * A version is complete, but if it is older than the last line `# end of policy`, a server would take it for cut off.
 */
function withEnd(content: PolicyContent): PolicyContent {
  const rules = String(Buffer.from(content.get(RULES) ?? []))
  if (rules.trim() === '' || saysItsEnd(rules)) return content
  return new Map([...content, [RULES, Buffer.from(`${rules.trimEnd()}\n${END}\n`)]])
}

/** The findings, with the paths that the files will have, also in hints and in commands that explain counterexamples. */
export function relocated(check: FindingReport, from: string, to: string): FindingReport {
  const [here, there] = [from, to].map((path) => JSON.stringify(path).slice(1, -1)) as [string, string]
  const moved = <T>(told: T): T => JSON.parse(JSON.stringify(told).replaceAll(here, () => there))
  const { findings, beside, sources } = check
  const placed = new Map([...sources].map(([file, text]) => [moved(file), text]))
  return { ...check, findings: moved(findings), sources: placed, ...(beside && { beside: moved(beside) }) }
}

interface PlanPlace {
  readonly target: Pick<ReleaseTarget, 'folder' | 'name' | 'isHeldBack'>
  readonly resources: Resources
  readonly now: Date
}

/** Throws ToolError if the files change meanwhile. */
export async function planFrom(
  source: string,
  name: string,
  { target, resources, now }: PlanPlace,
): Promise<PlannedFiles> {
  const content = await readContent(source)
  const present = await readContent(target.folder)
  const over = digestOf(present)
  const options = { policies: source, resources, users: undefined, now, endKnown: saysEnd(present) }
  // A server would refuse the new files, too, beside a file that no policy has.
  const checked = withErrors(await checkPolicy(options), await findUnknownFiles(target.folder))
  const blocks = missingBlocks(await blockedIn(source), await blockedIn(target.folder))
  const diff = await orFaults(
    () => compare({ source, name, target, blocks, resources, now }),
    () => undefined,
  )
  const check = withErrors(checked, diff?.refusals.map(({ fault }) => fault) ?? [])
  // The files are read once: the same bytes are checked, compared and applied.
  if (digestOf(await readContent(source)) !== digestOf(content)) {
    throw new ToolError(`the files of ${name} changed while they were checked: try again`)
  }
  const sameRules = digestOf(content) === over && !(await target.isHeldBack())
  return { content, check, diff, blocks, over, sameRules }
}

function withErrors(check: FindingReport, errors: readonly Diagnostic[]): FindingReport {
  return { ...check, findings: [...errors, ...check.findings], errors: check.errors + errors.length }
}

interface PlanInput extends PlanPlace {
  readonly source: string
  readonly name: string
  readonly blocks: PlannedFiles['blocks']
}

/** Throws FileError. */
async function compare({ source, name, target, blocks, resources, now }: PlanInput): Promise<PolicyDiff> {
  const before = await loadPolicy(target.folder, resources)
  // The files that will be in force: the new rules, and the current blocks with the added ones.
  const blockedFile = { ...before.blockedFile, text: withBlocks(before.blockedFile.text, blocks) }
  const after = { ...(await loadPolicy(source, resources)), blockedFile, blocked: parseBlocked(blockedFile) }
  return reportOn({ before: target.name, after: name }, { before, after }, { resources, now: now.getTime() })
}

/** Lines for the blocks that some files have and those in force lack. */
function missingBlocks(wanted: Blocked, present: Blocked): readonly string[] {
  const missing = [...wanted.values()].filter(({ id, until = Number.POSITIVE_INFINITY }) => {
    const known = present.get(id)
    return !known || (known.until ?? Number.POSITIVE_INFINITY) < until
  })
  return missing.map(
    ({ id, until }) => `user:${id}${until === undefined ? '' : ` until=${new Date(until).toISOString()}`}`,
  )
}

/** The check reports faults; a file that can't be read adds no block. */
function blockedIn(directory: string): Promise<Blocked> {
  return orFaults(
    async () => parseBlocked(await readBlockedFile(directory)),
    () => new Map(),
  )
}

// ---- The version that a rollback returns to.

export interface Rollback {
  readonly plan: ReleasePlan
  /** The number of the version. */
  readonly of: number
}

/** The version that `named` names, or else the one before the current one. Throws ToolError. */
export async function planRollback(named: string | undefined, options: PlanOptions): Promise<Rollback> {
  const { target } = options
  // After an unfinished `apply`, the rollback undoes that `apply`; the version before it is already in force.
  const present = (await target.isHeldBack()) ? undefined : digestOf(await readContent(target.folder))
  const version = returnTarget(await target.history(), present, named)
  return { plan: await planReturn(version, await target.contentOf(version), options), of: version.number }
}

/**
 * `named`: a number or a revision. Without it, the version before the current one; if the current version's files were
 * edited since, that version itself. `present` is the digest of the current files, undefined for files that no version
 * has. Throws ToolError if there is no such version.
 */
export function returnTarget(
  history: readonly PolicyVersion[],
  present: string | undefined,
  named: string | undefined,
): PolicyVersion {
  const found =
    named === undefined
      ? before(history, present)
      : history.findLast(({ number, revision }) => named === String(number) || named === revision)
  if (found) return found
  if (named !== undefined)
    throw new ToolError(`there is no version \`${named}\`: take one from \`sallyport policy history\``)
  const why = history.length > 0 ? ': take one from `sallyport policy history` with --to' : ': nothing was applied yet'
  throw new ToolError(`there is no version before this one${why}`)
}

/** The version before a restored version is the one that was before the original; of those still kept, the last. */
function before(history: readonly PolicyVersion[], present: string | undefined): PolicyVersion | undefined {
  // Versions that only change blocked.txt have the rules of the one before.
  const releases = history.filter(({ kind }) => kind !== 'blocked' && kind !== 'unblocked')
  const current = releases.at(-1)
  if (current && current.digest !== present) return current
  return releases.findLast(({ number }) => number < (current?.of ?? current?.number ?? 0))
}
