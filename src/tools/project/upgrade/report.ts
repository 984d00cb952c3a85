/**
 * What two versions of the program are compared for, and what is told of it: docs/schemas/upgrade-check.schema.json is
 * the shape of the report.
 */
import type { Diagnostic } from '../../../base/diagnostic.ts'
import type { Database } from '../../../store/open.ts'

export interface ProgramPackage {
  readonly root: string
  readonly version: string
}

interface ProjectPlaces {
  readonly folder: string
  readonly schemas: string
  readonly policies: string
  readonly matrices: string
  readonly migrations: string
  /** Only a database in a file is looked at. */
  readonly database: Pick<Database, 'engine' | 'location'>
}

/** How long one command of a version may take, and how much it may print. */
export interface AnswerBounds {
  readonly milliseconds: number
  readonly bytes: number
}

/** What is compared. Paths are from the current folder. */
export interface UpgradeSides {
  readonly project: ProjectPlaces
  readonly old: ProgramPackage
  readonly new: ProgramPackage
  /** The moment that both decide for, like 2027-01-31T18:00:00.000Z. */
  readonly at: string
  readonly bounds: AnswerBounds
}

/** Something that could not be compared, which is never told as equal. */
export interface Undecided {
  readonly part: 'findings' | 'decisions' | 'data'
  readonly reason: string
}

export interface UpgradeFinding extends Diagnostic {
  /** Whether the old version has the same finding. */
  readonly before: 'found' | 'not-found' | 'unknown'
}

/** The answer in a cell of the access matrix; `rules`: the lines that decide. */
export interface CellAnswer extends Readonly<Record<'outcome' | 'granted', string>> {
  readonly fields: readonly string[]
  readonly conditions: readonly string[]
  readonly rules: readonly string[]
}

/** A cell of the access matrix that the two versions decide differently. */
export interface CellChange extends Readonly<Record<'caller' | 'method' | 'path' | 'relation', string>> {
  readonly becomes?: string
  /** The conditions of the request that were assumed to hold. */
  readonly holding: readonly string[]
  readonly effect: 'widens' | 'narrows' | 'changes'
  readonly old: CellAnswer
  readonly new: CellAnswer
}

/** Methods of a path that only one of the versions serves, and the callers that are allowed for some object. */
export interface RouteChange {
  readonly kind: 'new' | 'gone'
  readonly methods: readonly string[]
  readonly path: string
  readonly callers: readonly string[]
}

export interface UpgradeReport {
  readonly folder: string
  readonly old: string
  readonly new: string
  /** `earlier`: the other version is the newer one. Below 1.0.0, the middle number is raised for a `major` step. */
  readonly step: 'same' | 'patch' | 'minor' | 'major' | 'earlier'
  readonly promise: string
  readonly findings: readonly UpgradeFinding[]
  /** How many findings are not listed. */
  readonly moreFindings: number
  /** `compared`: how many cells both versions have; `more`: how many changes are not listed. */
  readonly decisions: {
    readonly compared: number
    readonly changes: readonly CellChange[]
    readonly more: number
    readonly routes: readonly RouteChange[]
  }
  /** `version`: the heading in CHANGELOG.md. */
  readonly changelog: readonly Readonly<Record<'version' | 'text', string>>[]
  /** The layout of the store that each version writes (null: it hadn't the engine), and that of the project's file. */
  readonly data: readonly {
    readonly engine: string
    readonly old: number | null
    readonly new: number
    /** Whether the old version can still open the data after the new one has. */
    readonly canGoBack: boolean
    readonly file?: { readonly path: string; readonly layout: number }
  }[]
  readonly undecided: readonly Undecided[]
  readonly todo: boolean
}
