/** What `upgrade --check` compares: two versions of the program, and a project that both look at. */
import type { Database } from '../../../store/open.ts'

export interface ProgramPackage {
  readonly root: string
  readonly version: string
}

/** Where the project has its files, as paths from the current folder. */
export interface ProjectPlaces {
  readonly folder: string
  readonly schemas: string
  readonly policies: string
  readonly matrices: string
  readonly migrations: string
  /** Only a database in a file is looked at. */
  readonly database: Pick<Database, 'engine' | 'location'>
}

/** What is compared. */
export interface UpgradeSides {
  readonly project: ProjectPlaces
  readonly old: ProgramPackage
  readonly new: ProgramPackage
  /** The moment that both decide for, like 2027-01-31T18:00:00.000Z. */
  readonly at: string
  readonly bounds: AnswerBounds
}

/** How long one command of a version may take, and how much it may print. */
export interface AnswerBounds {
  readonly milliseconds: number
  readonly bytes: number
}
