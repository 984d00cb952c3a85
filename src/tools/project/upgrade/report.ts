/** What `upgrade --check` tells, as data: docs/schemas/upgrade-check.schema.json is its shape. */
import type { Diagnostic } from '../../../base/diagnostic.ts'

/** `earlier`: the other version is the newer one. `breaking` versions below 1.0.0 raise the middle number. */
export type VersionStep = 'same' | 'patch' | 'minor' | 'major' | 'earlier'

/** Something that could not be compared, which is never told as equal. */
export interface Undecided {
  readonly part: 'findings' | 'decisions' | 'templates' | 'changelog' | 'data'
  readonly reason: string
}

export interface UpgradeFinding extends Diagnostic {
  /** Whether the old version has the same finding. */
  readonly before: 'found' | 'not-found' | 'unknown'
}

/** The answer in a cell of the access matrix. */
export interface CellAnswer {
  readonly outcome: string
  readonly granted: string
  readonly fields: readonly string[]
  readonly conditions: readonly string[]
  /** The lines that decide. */
  readonly rules: readonly string[]
}

/** A cell of the access matrix that the two versions decide differently. */
export interface CellChange {
  readonly caller: string
  readonly method: string
  readonly path: string
  readonly relation: string
  readonly becomes?: string
  /** The conditions of the request that were assumed to hold. */
  readonly holding: readonly string[]
  readonly effect: 'widens' | 'narrows' | 'changes'
  readonly old: CellAnswer
  readonly new: CellAnswer
}

/** Methods of a path that only one of the versions serves, and that the same callers may use. */
export interface RouteChange {
  readonly kind: 'new' | 'gone'
  readonly methods: readonly string[]
  readonly path: string
  /** The callers that are allowed for some object. */
  readonly callers: readonly string[]
}

export interface DecisionChanges {
  /** How many cells both versions have. */
  readonly compared: number
  readonly changes: readonly CellChange[]
  /** How many changes are not listed. */
  readonly more: number
  readonly routes: readonly RouteChange[]
}

/** A file of the project whose template differs between the versions. */
export interface TemplateChange {
  readonly file: string
  /** `replace`: the old template, byte for byte. `compare`: with the project's values or changes. `add`: only the new version has the template. */
  readonly advice: 'replace' | 'compare' | 'add'
  /** Where the new template is. */
  readonly template: string
  /** From what the old version would make to what the new one makes, for `git apply`. */
  readonly patch: string
}

export interface ChangelogEntry {
  /** The heading in CHANGELOG.md. */
  readonly version: string
  readonly text: string
}

/** The layout of the store that each version writes, and that of the project's file. */
export interface DataChange {
  readonly engine: string
  /** Null if the version didn't have this engine. */
  readonly old: number | null
  readonly new: number
  /** Whether the old version can still open the data after the new one has. */
  readonly canGoBack: boolean
  readonly file?: { readonly path: string; readonly layout: number }
}

export interface UpgradeReport {
  readonly folder: string
  readonly old: string
  readonly new: string
  readonly step: VersionStep
  readonly promise: string
  readonly findings: readonly UpgradeFinding[]
  /** How many findings are not listed. */
  readonly moreFindings: number
  readonly decisions: DecisionChanges
  readonly templates: readonly TemplateChange[]
  readonly changelog: readonly ChangelogEntry[]
  readonly data: readonly DataChange[]
  readonly undecided: readonly Undecided[]
  readonly todo: boolean
}
