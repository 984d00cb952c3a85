/**
 * The policy in force, and its life: files -> parse -> snapshot -> swap one reference. Whatever fails, what was in force
 * stays in force, and the failure is told to the observer. blocked.txt is taken on its own, even while others are broken.
 */
import type { Resources } from '../resources/resource.ts'
import { type Blocked, parseBlocked } from './parse-blocked.ts'
import { parsePolicy } from './parse-policy.ts'
import {
  type PolicyFiles,
  type Revision,
  readBlockedFile,
  readPolicyFiles,
  revisionOf,
  type SourceFile,
} from './policy-files.ts'
import type { Snapshot } from './snapshot.ts'
import { Snapshots } from './snapshots.ts'

/** What a request is decided by; never changes, a change makes another. */
export interface ActivePolicy {
  readonly revision: Revision
  /** Of the rules that live at the time that it was asked for. */
  readonly snapshot: Snapshot
  readonly blocked: Blocked
}

export type PolicyEvent =
  | { readonly kind: 'activated'; readonly revision: Revision; readonly previous: Revision }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The `until=` of these lines of policy.csv has passed. */
  | { readonly kind: 'ended'; readonly revision: Revision; readonly lines: readonly number[] }

interface Sources {
  readonly files: PolicyFiles
  readonly blocked: SourceFile
}

export class LivePolicy {
  readonly #directory: string
  readonly #resources: Resources
  readonly #observe: (event: PolicyEvent) => void
  #sources: Sources
  #snapshots: Snapshots
  #active: ActivePolicy
  /** When it was asked last, in milliseconds since the epoch. */
  #asked = Number.NEGATIVE_INFINITY
  #fault: unknown

  private constructor(
    directory: string,
    resources: Resources,
    observe: (event: PolicyEvent) => void,
    sources: Sources,
  ) {
    this.#directory = directory
    this.#resources = resources
    this.#observe = observe
    this.#sources = sources
    this.#snapshots = new Snapshots(parsePolicy(sources.files, resources), resources)
    this.#active = Object.freeze({
      revision: revisionOf(sources.files, sources.blocked),
      snapshot: this.#snapshots.at(this.#asked),
      blocked: parseBlocked(sources.blocked),
    })
  }

  /** Throws FileError: at start a bad policy refuses to start. */
  static async open(
    directory: string,
    resources: Resources,
    observe: (event: PolicyEvent) => void,
  ): Promise<LivePolicy> {
    const [files, blocked] = await Promise.all([readPolicyFiles(directory), readBlockedFile(directory)])
    return new LivePolicy(directory, resources, observe, { files, blocked })
  }

  get directory(): string {
    return this.#directory
  }

  /** As it was asked last, for what no `until=` touches: the revision, relations, limits. Decisions ask `at`. */
  get active(): ActivePolicy {
    return this.#active
  }

  /** What rules at a time, in milliseconds since the epoch: a rule is gone at the moment of its `until=`. */
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

  /** Why the files on disk aren't in force; undefined when they are. */
  get fault(): unknown {
    return this.#fault
  }

  /** Takes what is on disk, as far as it is sound. Never rejects. */
  async reload(): Promise<void> {
    this.#fault = undefined
    const blocked = await this.#attempt(() => this.#readBlocked())
    const policy = await this.#attempt(() => this.#readPolicy())
    const sources = {
      files: policy?.files ?? this.#sources.files,
      blocked: blocked?.source ?? this.#sources.blocked,
    }
    const revision = revisionOf(sources.files, sources.blocked)
    const previous = this.#active
    if (revision === previous.revision) return
    this.#sources = sources
    this.#snapshots = policy?.snapshots ?? this.#snapshots
    this.#active = Object.freeze({
      revision,
      snapshot: this.#snapshots.at(this.#asked),
      blocked: blocked?.blocked ?? previous.blocked,
    })
    this.#observe({ kind: 'activated', revision, previous: previous.revision })
  }

  async #readBlocked(): Promise<{ source: SourceFile; blocked: Blocked }> {
    const source = await readBlockedFile(this.#directory)
    return { source, blocked: parseBlocked(source) }
  }

  async #readPolicy(): Promise<{ files: PolicyFiles; snapshots: Snapshots }> {
    const files = await readPolicyFiles(this.#directory)
    const snapshots = new Snapshots(parsePolicy(files, this.#resources), this.#resources)
    await snapshots.at(this.#asked).warmLike(this.#active.snapshot)
    return { files, snapshots }
  }

  async #attempt<T>(read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read()
    } catch (error) {
      this.#fault = error
      this.#observe({ kind: 'failed', error })
      return undefined
    }
  }
}
