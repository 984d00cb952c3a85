/**
 * Keeps the policy in force up to date: reads the files of its source, parses them, makes a snapshot, and swaps one reference. When a
 * step fails, the policy in force stays, and the observer is called. blocked.txt is loaded separately, also while other
 * files are broken.
 */

import { FileError, type SourceFile } from '../../base/diagnostic.ts'
import type { RoleGrants } from '../../decide/caller.ts'
import { type PackedPolicy, packPolicy } from '../../decide/rules/rule-table.ts'
import { Snapshots, type Warm } from '../../decide/rules/snapshots.ts'
import type { Resources } from '../../resources/resource.ts'
import { findFormerWords } from '../former-words.ts'
import { type Blocked, parseBlocked } from '../parse/parse-blocked.ts'
import { parsePolicy } from '../parse/parse-policy.ts'
import { findCutOff, saysItsEnd } from '../parse/rule-lines.ts'
import { type PolicyFiles, RULE_FILES, revisionOf } from '../policy-files.ts'
import type { PolicyFolder } from '../policy-folder.ts'
import type { PolicyReading, PolicySource } from '../policy-source.ts'
import type { ActivePolicy, PolicyEvent, PolicySources } from './active-policy.ts'

/** The parts that are loaded separately. */
interface LoadedParts<T> {
  readonly rules: T
  readonly blocked: T
}

const ALL: LoadedParts<boolean> = { rules: true, blocked: true }

export interface LivePolicyOptions {
  readonly source: PolicySource
  readonly resources: Resources
  readonly observe: (event: PolicyEvent) => void
  /** Loads files in place of those in force while the server runs; throws, or rejects with, FileError. */
  readonly parse?: (files: PolicyFiles, inForce?: PolicyFiles) => PackedPolicy | Promise<PackedPolicy>
  /** Rejects with FileError for a policy that breaks its guarantees; a given `parse` does the same. */
  readonly prove?: (files: PolicyFiles, inForce?: PolicyFiles) => Promise<void>
  readonly warm?: Warm
  /**
   * `known`: an earlier process has seen that policy.csv has its last line. `report`: says that this process has seen
   * it.
   */
  readonly end?: { readonly known: boolean; readonly report: () => void }
}

export class LivePolicy {
  readonly #source: PolicySource
  readonly #resources: Resources
  readonly #observe: (event: PolicyEvent) => void
  readonly #parse: NonNullable<LivePolicyOptions['parse']>
  readonly #warm: Warm | undefined
  #sources: PolicySources
  /** The numbers of the published versions that the parts in force are from. */
  #sequences: LoadedParts<number | undefined>
  #snapshots: Snapshots
  #active: ActivePolicy
  /** The time of the last question, in milliseconds since the epoch. */
  #asked = Number.NEGATIVE_INFINITY
  #faults: LoadedParts<readonly unknown[]> = { rules: [], blocked: [] }
  /**
   * policy.csv had the last line `# end of policy` at least once: from then on, a file without it counts as cut off.
   */
  #endKnown: boolean
  #loading: Promise<PolicyFolder | undefined> = Promise.resolve(undefined)
  readonly #reportEnd: () => void

  private constructor(
    { source, resources, observe, parse, prove, warm, end }: LivePolicyOptions,
    reading: PolicyReading,
  ) {
    const sources = { files: reading.files(), blocked: reading.blocked() }
    this.#endKnown = end?.known ?? false
    this.#reportEnd = end?.report ?? (() => {})
    this.#refuseCutOff(sources.files)
    this.#source = source
    this.#resources = resources
    this.#observe = observe
    const provenHere = async (files: PolicyFiles, inForce?: PolicyFiles) => {
      await prove?.(files, inForce)
      return packPolicy(parsePolicy(files, resources))
    }
    this.#parse = parse ?? provenHere
    this.#warm = warm
    this.#sources = sources
    this.#sequences = { rules: reading.sequence, blocked: reading.sequence }
    this.#snapshots = new Snapshots(packPolicy(parsePolicy(sources.files, resources)), resources, warm)
    this.#active = Object.freeze({
      revision: revisionOf(sources.files, sources.blocked),
      snapshot: this.#snapshots.at(this.#asked),
      blocked: parseBlocked(sources.blocked),
      sequence: reading.sequence,
    })
    this.#reportFormerWords(sources.files)
  }

  /** Throws FileError: with a bad policy the server doesn't start. */
  static async open(options: LivePolicyOptions): Promise<LivePolicy> {
    const { source, prove } = options
    const reading = await source.read()
    const live = new LivePolicy(options, reading)
    await prove?.(reading.files())
    return live
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

  /** From now on these callers have these roles, until their time ends. */
  giveRoles(grants: RoleGrants): void {
    this.#active = Object.freeze({ ...this.#active, grants })
  }

  /** The reasons why files on disk aren't in force; empty when all are. */
  get faults(): readonly unknown[] {
    return [...this.#faults.blocked, ...this.#faults.rules]
  }

  /** The files that the policy in force was made of. */
  get sources(): PolicySources {
    return this.#sources
  }

  /** Whether these are the rules in force: a version may change nothing but blocks. */
  hasRules(files: PolicyFiles): boolean {
    return isSame(files, this.#sources.files)
  }

  /** The parts that could not be read: they are read again even if they have not changed. */
  get unread(): LoadedParts<boolean> {
    return { rules: this.#faults.rules.some(isPassing), blocked: this.#faults.blocked.some(isPassing) }
  }

  /**
   * Loads the files of the source, all of them or the requested parts, if they are valid. Returns the folder that rules
   * were read from, because the path may lead to another folder before and after. Never rejects. Rules are loaded in turn:
   * what an earlier call has read must not replace what a later one has read.
   */
  reload(parts: LoadedParts<boolean> = ALL): Promise<PolicyFolder | undefined> {
    // A block doesn't wait for rules, which may take long to load.
    if (!parts.rules) return this.#load(parts)
    this.#loading = this.#loading.then(() => this.#load(parts))
    return this.#loading
  }

  async #load(parts: LoadedParts<boolean>): Promise<PolicyFolder | undefined> {
    const refused = this.faults.length > 0
    const reading = parts.rules ? await this.#source.read() : undefined
    const blocked = parts.blocked ? await this.#attempt('blocked', () => this.#blockedOf(reading)) : undefined
    const rules = reading ? await this.#attempt('rules', () => this.#rulesOf(reading)) : undefined
    if (!this.#take(rules, blocked) && refused && this.faults.length === 0) {
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
    const sequence = this.#takeSequences(rules, blocked)
    if (revision === previous.revision) {
      if (sequence !== previous.sequence) this.#active = Object.freeze({ ...previous, sequence })
      return false
    }
    this.#sources = after
    this.#snapshots = rules?.snapshots ?? this.#snapshots
    this.#active = Object.freeze({
      revision,
      snapshot: this.#snapshots.at(this.#asked),
      blocked: blocked?.blocked ?? previous.blocked,
      grants: previous.grants,
      sequence,
    })
    this.#observe({ kind: 'activated', revision, previous: previous.revision, before, after, sequence })
    if (rules) this.#reportFormerWords(rules.files)
    return true
  }

  #reportFormerWords(files: PolicyFiles): void {
    const words = findFormerWords(files)
    if (words.length > 0) this.#observe({ kind: 'former-words', words })
  }

  /** Up to the returned number, all versions are in force: one part may be from a later version than the other. */
  #takeSequences(rules: ReadRules | undefined, blocked: ReadBlocked | undefined): number | undefined {
    const before = this.#sequences
    this.#sequences = {
      rules: rules ? rules.sequence : before.rules,
      blocked: blocked ? blocked.sequence : before.blocked,
    }
    const { rules: ofRules, blocked: ofBlocked } = this.#sequences
    return ofRules === undefined || ofBlocked === undefined ? undefined : Math.min(ofRules, ofBlocked)
  }

  /** Read together with the rules, so that both belong to one version. */
  async #blockedOf(reading: PolicyReading | undefined): Promise<ReadBlocked> {
    const { blocked: source, sequence } = reading
      ? { blocked: reading.blocked(), sequence: reading.sequence }
      : await this.#source.readBlocked()
    return { source, blocked: parseBlocked(source), sequence }
  }

  async #rulesOf(reading: PolicyReading): Promise<ReadRules> {
    // The policy in force may be newer than the refused files, and stays.
    if (reading.refusal) throw new FileError([reading.refusal])
    const { sequence } = reading
    const files = reading.files()
    this.#refuseCutOff(files)
    // Only the times of the files changed, or the policy was just opened with these files.
    if (isSame(files, this.#sources.files)) return { files, snapshots: this.#snapshots, sequence }
    const snapshots = new Snapshots(await this.#parse(files, this.#sources.files), this.#resources, this.#warm)
    await snapshots.warmLike(this.#active.snapshot, this.#asked)
    return { files, snapshots, sequence }
  }

  #refuseCutOff({ 'policy.csv': rules }: PolicyFiles): void {
    const cut = this.#endKnown ? findCutOff(rules) : undefined
    if (cut) throw new FileError([cut])
    if (this.#endKnown || !saysItsEnd(rules.text)) return
    this.#endKnown = true
    this.#reportEnd()
  }

  async #attempt<T>(part: keyof LoadedParts<unknown>, read: () => T | Promise<T>): Promise<T | undefined> {
    try {
      const result = await read()
      this.#faults = { ...this.#faults, [part]: [] }
      return result
    } catch (error) {
      const [before] = this.#faults[part]
      this.#faults = { ...this.#faults, [part]: [error] }
      // The fault is retried again and again, but reported once.
      if (!isPassing(error) || !isAlike(error, before)) this.#observe({ kind: 'failed', error })
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

/** If no descriptor is free, it is chance which file can't be read. */
function isAlike(error: unknown, before: unknown): boolean {
  const [one, other] = [String(error), String(before)]
  return one === other || (NO_DESCRIPTOR.test(one) && NO_DESCRIPTOR.test(other))
}

const NO_DESCRIPTOR = /\bE[MN]FILE\b/

function isSame(files: PolicyFiles, others: PolicyFiles): boolean {
  return RULE_FILES.every((name) => files[name]?.text === others[name]?.text)
}

interface ReadBlocked {
  readonly source: SourceFile
  readonly blocked: Blocked
  readonly sequence: number | undefined
}

interface ReadRules {
  readonly files: PolicyFiles
  readonly snapshots: Snapshots
  readonly sequence: number | undefined
}
