/** What a change would mean before it is made: its faults, what it means differently, whom it blocks. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileError } from '../../base/diagnostic.ts'
import { type Blocked, parseBlocked } from '../../policy/parse/parse-blocked.ts'
import { END, saysItsEnd } from '../../policy/parse/rule-lines.ts'
import { readBlockedFile } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import { type CheckReport, checkPolicy } from '../check/check-policy.ts'
import { type PolicyDiff, reportOn } from '../diff/compare-policies.ts'
import { loadPolicy, ReviewError, refuseNoDirectory } from '../load-policy.ts'
import { withBlocks } from './blocks.ts'
import { digestOf, type PolicyContent, readContent } from './content.ts'
import { type Home, nameOf } from './layout.ts'
import { isHeldBack } from './swap-policy-files.ts'
import type { Version } from './version.ts'

const RULES = 'policy.csv'

export interface ReleasePlan {
  readonly home: Home
  /** The policy directory that the server reads. */
  readonly directory: string
  readonly content: PolicyContent
  /** Faults and warnings of the new files. */
  readonly check: CheckReport
  /** Undefined when the files in force can't be compared with, because a server would refuse them, or the new ones. */
  readonly diff: PolicyDiff | undefined
  /** Lines of blocked.txt that the new files have and those in force lack. */
  readonly blocks: readonly string[]
  /** The digest of the files in force. */
  readonly over: string
  /** The rules would be what they are. */
  readonly sameRules: boolean
}

export interface PlanOptions {
  readonly home: Home
  readonly resources: Resources
  readonly now: Date
}

/** Of applying another directory. Throws ReviewError. */
export async function planApply(candidate: string, options: PlanOptions): Promise<ReleasePlan> {
  const { directory } = options.home
  await refuseNoDirectory(candidate)
  await refuseNoDirectory(directory)
  if ((await realpath(candidate)) === (await realpath(directory))) {
    throw new ReviewError(`${candidate} is the directory in force itself; prepare the change in a copy of it`)
  }
  return planFrom(candidate, candidate, options)
}

/** Of going back to the files of a version, whose blocked.txt is the one of now. */
export async function planReturn(version: Version, content: PolicyContent, options: PlanOptions): Promise<ReleasePlan> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-release-'))
  const whole = saysEnd(await readContent(options.home.directory)) ? withEnd(content) : content
  try {
    for (const [file, bytes] of whole) await writeFile(join(folder, file), bytes)
    // No way back rests on blocked.txt, which may be what is broken.
    await writeFile(join(folder, 'blocked.txt'), '')
    const plan = await planFrom(folder, `version ${version.number}`, options)
    return { ...plan, check: relocated(plan.check, folder, join(options.home.versions, nameOf(version))) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function saysEnd(content: PolicyContent): boolean {
  return saysItsEnd(String(Buffer.from(content.get(RULES) ?? [])))
}

/** A version is whole, but one of before policy.csv said its end would look cut off to a server. */
function withEnd(content: PolicyContent): PolicyContent {
  const rules = String(Buffer.from(content.get(RULES) ?? []))
  if (rules.trim() === '' || saysItsEnd(rules)) return content
  return new Map([...content, [RULES, Buffer.from(`${rules.trimEnd()}\n${END}\n`)]])
}

/** Findings where the files are for good. */
function relocated(check: CheckReport, from: string, to: string): CheckReport {
  const place = (file: string) => (file.startsWith(`${from}/`) ? join(to, file.slice(from.length)) : file)
  const findings = check.findings.map((finding) => ({ ...finding, file: place(finding.file) }))
  return { ...check, findings, sources: new Map([...check.sources].map(([file, text]) => [place(file), text])) }
}

async function planFrom(source: string, name: string, { home, resources, now }: PlanOptions): Promise<ReleasePlan> {
  const { directory } = home
  const content = await readContent(source)
  const present = await readContent(directory)
  const over = digestOf(present)
  const check = await checkPolicy({ policies: source, resources, users: undefined, now, endKnown: saysEnd(present) })
  const blocks = await missingBlocks(source, directory)
  const diff = await compare({ source, name, directory, blocks, resources, now })
  // What was checked and compared is what was read first, and what is going to be applied.
  if (digestOf(await readContent(source)) !== digestOf(content)) {
    throw new ReviewError(`the files of ${name} changed while they were checked; try again`)
  }
  const sameRules = digestOf(content) === over && !(await isHeldBack(directory))
  return { home, directory, content, check, diff, blocks, over, sameRules }
}

interface Compared {
  readonly source: string
  readonly name: string
  readonly directory: string
  readonly blocks: ReleasePlan['blocks']
  readonly resources: Resources
  readonly now: Date
}

async function compare({ source, name, directory, blocks, resources, now }: Compared): Promise<PolicyDiff | undefined> {
  try {
    const before = await loadPolicy(directory, resources)
    // What will be in force: the new rules, and the blocks of now with those that are added.
    const blockedFile = { ...before.blockedFile, text: withBlocks(before.blockedFile.text, blocks) }
    const after = { ...(await loadPolicy(source, resources)), blockedFile, blocked: parseBlocked(blockedFile) }
    return reportOn({ before: directory, after: name }, { before, after }, { resources, now: now.getTime() })
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

/** Faults are told by the check; a file that can't be read blocks nobody more. */
async function missingBlocks(source: string, directory: string): Promise<readonly string[]> {
  const [wanted, present] = await Promise.all([blockedIn(source), blockedIn(directory)])
  const missing = [...wanted.values()].filter(({ id, until = Number.POSITIVE_INFINITY }) => {
    const known = present.get(id)
    return !known || (known.until ?? Number.POSITIVE_INFINITY) < until
  })
  return missing.map(
    ({ id, until }) => `user:${id}${until === undefined ? '' : ` until=${new Date(until).toISOString()}`}`,
  )
}

async function blockedIn(directory: string): Promise<Blocked> {
  try {
    return parseBlocked(await readBlockedFile(directory))
  } catch (error) {
    if (error instanceof FileError) return new Map()
    throw error
  }
}
