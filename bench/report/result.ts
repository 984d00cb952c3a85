/** What a run of the bench found: the form of its JSON (docs/schemas/bench.schema.json). */

/** One quantity of one subject: a value a round, in the order of the rounds. */
export type Sample = readonly number[]

export interface Row {
  readonly subject: string
  /** What it is a point of, in a curve of cost against size. */
  readonly size?: { readonly of: string; readonly count: number }
  /** Quantity with its unit, e.g. `req/s` or `CPU us/req` -> its samples. */
  readonly quantities: Readonly<Record<string, Sample>>
}

export interface Target {
  /** What must hold, e.g. `guarded GET / bare node:http`. */
  readonly what: string
  readonly atLeast?: number
  readonly atMost?: number
  /** Of a ratio: taken within each round. */
  readonly values: Sample
}

export interface PartResult {
  readonly id: string
  readonly title: string
  /** What was done, for whoever reads the figures. */
  readonly method: string
  readonly rows: readonly Row[]
  readonly targets: readonly Target[]
  /** What could not be measured, and why. */
  readonly leftOut: readonly string[]
  /** What measuring it took. */
  readonly seconds?: number
  /** Where it was measured, if in another run than the others (`--keep`). */
  readonly run?: { readonly began: string; readonly revision: string }
}

export interface RunResult {
  readonly command: string
  /** RFC 3339. */
  readonly began: string
  readonly seconds: number
  /** The commit; `+` behind it when files differed from it. */
  readonly revision: string
  readonly node: string
  readonly machine: {
    readonly system: string
    readonly cpu: string
    readonly cpus: number
    readonly memoryGiB: number
    /** Whether servers and load had a CPU each. */
    readonly pinned: boolean
    /** Processes that wanted a CPU in the minute before (uptime's load average): above 0.5 the machine wasn't quiet. */
    readonly loadBefore: number
  }
  /** Package -> version of the peers; absent when they weren't measured. */
  readonly peers?: Readonly<Record<string, string>>
  readonly settings: { readonly rounds: number; readonly seconds: number; readonly small: boolean }
  readonly parts: readonly PartResult[]
}
