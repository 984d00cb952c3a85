/**
 * Keeps the policy in force up to date: reads the files, parses them, makes a snapshot, and swaps one reference. When a
 * step fails, the policy in force stays, and the observer is called. blocked.txt is loaded separately, also while other
 * files are broken.
 */

import type { SourceFile } from '../base/diagnostic.ts'
import { FileError } from '../base/diagnostic.ts'
import { type PackedPolicy, packPolicy } from '../decide/rules/rule-table.ts'
import { Snapshots, type Warm } from '../decide/rules/snapshots.ts'
import type { Snapshot } from '../decide/snapshot.ts'
import type { Resources } from '../resources/resource.ts'
import { type Blocked, parseBlocked } from './parse/parse-blocked.ts'
import { parsePolicy } from './parse/parse-policy.ts'
import { findCutOff, saysItsEnd } from './parse/rule-lines.ts'
import {
  type PolicyFiles,
  type PolicyReading,
  type Revision,
  RULE_FILES,
  readBlockedFile,
  readInPlace,
  readPolicy,
  revisionOf,
} from './policy-files.ts'
import type { PolicyFolder } from './policy-folder.ts'

/** The policy that decides a request. It never changes: a change of the files creates a new one. */
export interface ActivePolicy {
  readonly revision: Revision
  /** For the rules in force at the requested time. */
  readonly snapshot: Snapshot
  readonly blocked: Blocked
}

export type PolicyEvent =
  | {
      readonly kind: 'activated'
      readonly revision: Revision
      readonly previous: Revision
      readonly before: PolicySources
      readonly after: PolicySources
    }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The files were changed back: they match the policy in force again. */
  | { readonly kind: 'recovered'; readonly revision: Revision }
  /** The `until=` of these lines of policy.csv has passed. */
  | { readonly kind: 'ended'; readonly revision: Revision; readonly lines: readonly number[] }

/** The files and results that a policy was made of. */
export interface PolicySources {
  readonly files: PolicyFiles
  readonly blocked: SourceFile
}

/** The parts that are loaded separately. */
interface Parts<T> {
  readonly rules: T
  readonly blocked: T
}

const ALL: Parts<boolean> = { rules: true, blocked: true }

interface LivePolicyOptions {
  readonly directory: string
  readonly resources: Resources
  readonly observe: (event: PolicyEvent) => void
  /** Loads files while the server runs; throws, or rejects with, FileError. */
  readonly parse?: (files: PolicyFiles) => PackedPolicy | Promise<PackedPolicy>
  readonly warm?: Warm
  /**
   * `known`: an earlier process has seen that policy.csv has its last line. `tell`: reports that this process has seen
   * it.
   */
  readonly end?: { readonly known: boolean; readonly tell: () => void }
}

export class LivePolicy {
  readonly #directory: string
  readonly #resources: Resources
  readonly #observe: (event: PolicyEvent) => void
  readonly #parse: (files: PolicyFiles) => PackedPolicy | Promise<PackedPolicy>
  readonly #warm: Warm | undefined
  #sources: PolicySources
  #snapshots: Snapshots
  #active: ActivePolicy
  /** The time of the last question, in milliseconds since the epoch. */
  #asked = Number.NEGATIVE_INFINITY
  #faults: Parts<readonly unknown[]> = { rules: [], blocked: [] }
  /**
   * policy.csv had the last line `# end of policy` at least once: from then on, a file without it counts as cut off.
   */
  #endKnown: boolean
  readonly #tellEnd: () => void

  private constructor({ directory, resources, observe, parse, warm, end }: LivePolicyOptions, sources: PolicySources) {
    this.#endKnown = end?.known ?? false
    this.#tellEnd = end?.tell ?? (() => {})
    this.#refuseCutOff(sources.files)
    this.#directory = directory
    this.#resources = resources
    this.#observe = observe
    this.#parse = parse ?? ((files) => packPolicy(parsePolicy(files, resources)))
    this.#warm = warm
    this.#sources = sources
    this.#snapshots = new Snapshots(packPolicy(parsePolicy(sources.files, resources)), resources, warm)
    this.#active = Object.freeze({
      revision: revisionOf(sources.files, sources.blocked),
      snapshot: this.#snapshots.at(this.#asked),
      blocked: parseBlocked(sources.blocked),
    })
  }

  /** Throws FileError: with a bad policy the server doesn't start. */
  static async open(options: LivePolicyOptions): Promise<LivePolicy> {
    return new LivePolicy(options, await readPolicy(options.directory))
  }

  get directory(): string {
    return this.#directory
  }

  /**
   * The last result of `at`, for parts that no `until=` changes: the revision, relations, limits. Decisions call `at`.
   */
  get active(): ActivePolicy {
    return this.#active
  }

  /** The policy at a time, in milliseconds since the epoch: a rule ends at the moment of its `until=`. */
  at(now: number): ActivePolicy {
    const before = this.#asked
    this.#asked = now
    const snapshot = this.#snapshots.at(now)
    if (snapshot === this.#active.snapshot) return this.#active
    const { revision } = this.#active
    this.#active = Object.freeze({ ...this.#active, snapshot })
    const lines = this.#snapshots.endedBetween(before, now)
    if (lines.length > 0) this.#observe({ kind: 'ended', revision, lines })
    return this.#active
  }

  /** The reasons why files on disk aren't in force; empty when all are. */
  get faults(): readonly unknown[] {
    return [...this.#faults.blocked, ...this.#faults.rules]
  }

  /** The parts that could not be read: they are read again even if they have not changed. */
  get unread(): Parts<boolean> {
    return { rules: this.#faults.rules.some(isPassing), blocked: this.#faults.blocked.some(isPassing) }
  }

  /**
   * Loads the files on disk, all of them or the requested parts, if they are valid. Returns the folder that rules were
   * read from, because the path may lead to another folder before and after. Never rejects.
   */
  async reload(parts: Parts<boolean> = ALL): Promise<PolicyFolder | undefined> {
    const refused = this.faults.length > 0
    const reading = parts.rules ? await readInPlace(this.#directory) : undefined
    const blocked = parts.blocked ? await this.#attempt('blocked', () => this.#blockedOf(reading)) : undefined
    const rules = reading ? await this.#attempt('rules', () => this.#rulesOf(reading)) : undefined
    const taken = this.#take(rules, blocked)
    if (!taken && refused && this.faults.length === 0) {
      this.#observe({ kind: 'recovered', revision: this.#active.revision })
    }
    return reading?.place
  }

  /** Whether the files differ from the policy in force. */
  #take(rules: ReadRules | undefined, blocked: ReadBlocked | undefined): boolean {
    const before = this.#sources
    const after = { files: rules?.files ?? before.files, blocked: blocked?.source ?? before.blocked }
    const revision = revisionOf(after.files, after.blocked)
    const previous = this.#active
    if (revision === previous.revision) return false
    this.#sources = after
    this.#snapshots = rules?.snapshots ?? this.#snapshots
    this.#active = Object.freeze({
      revision,
      snapshot: this.#snapshots.at(this.#asked),
      blocked: blocked?.blocked ?? previous.blocked,
    })
    this.#observe({ kind: 'activated', revision, previous: previous.revision, before, after })
    return true
  }

  /** Read together with the rules, so that both belong to one version. */
  async #blockedOf(reading: PolicyReading | undefined): Promise<ReadBlocked> {
    const source = reading ? reading.blocked() : await readBlockedFile(this.#directory)
    return { source, blocked: parseBlocked(source) }
  }

  async #rulesOf(reading: PolicyReading): Promise<ReadRules> {
    // The policy in force may be newer than the refused files, and stays.
    if (reading.unfinished) throw new FileError([reading.unfinished])
    const files = reading.files()
    this.#refuseCutOff(files)
    // Only the times of the files changed, or the policy was just opened with these files.
    if (isSame(files, this.#sources.files)) return { files, snapshots: this.#snapshots }
    const snapshots = new Snapshots(await this.#parse(files), this.#resources, this.#warm)
    await snapshots.warmLike(this.#active.snapshot, this.#asked)
    return { files, snapshots }
  }

  #refuseCutOff({ 'policy.csv': rules }: PolicyFiles): void {
    const cut = this.#endKnown ? findCutOff(rules) : undefined
    if (cut) throw new FileError([cut])
    if (this.#endKnown || !saysItsEnd(rules.text)) return
    this.#endKnown = true
    this.#tellEnd()
  }

  async #attempt<T>(part: keyof Parts<unknown>, read: () => T | Promise<T>): Promise<T | undefined> {
    try {
      const result = await read()
      this.#faults = { ...this.#faults, [part]: [] }
      return result
    } catch (error) {
      const [before] = this.#faults[part]
      this.#faults = { ...this.#faults, [part]: [error] }
      // The fault is retried again and again, but reported once.
      if (!isPassing(error) || String(error) !== String(before)) this.#observe({ kind: 'failed', error })
      return undefined
    }
  }
}

/**
 * Whether the fault may pass by itself (no free file descriptor, for example). Faulty content stays faulty until the
 * files change.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof FileError) return error.diagnostics.some(({ code }) => code === 'file-unreadable')
  // Errors of the system, and of a thread that could not be started.
  return (error as { readonly code?: unknown }).code !== undefined
}

function isSame(files: PolicyFiles, others: PolicyFiles): boolean {
  return RULE_FILES.every((name) => files[name]?.text === others[name]?.text)
}

interface ReadBlocked {
  readonly source: SourceFile
  readonly blocked: Blocked
}

interface ReadRules {
  readonly files: PolicyFiles
  readonly snapshots: Snapshots
}
