/** What a migration file says: the steps that each object of a resource goes through. */
import type { Json } from '../../resources/resource.ts'

interface Move {
  readonly from: string
  readonly to: string
}

/** One member is present, the step's name; migration.schema.json describes each. */
export interface MigrationStep {
  readonly rename?: Move
  readonly copy?: Move
  readonly default?: { readonly field: string; readonly value: Json }
  readonly map?: {
    readonly field: string
    readonly values: readonly { readonly from: Json; readonly to: Json }[]
    readonly others?: 'keep'
  }
  readonly drop?: readonly string[]
  readonly list?: readonly string[]
  readonly single?: readonly string[]
  readonly delete?: { readonly where: Readonly<Record<string, readonly Json[]>> }
}

export interface Migration {
  /** The number in the file's name; migrations run in this order. */
  readonly number: number
  /** `0001-priority`: the file's name without its ending. */
  readonly name: string
  /** Of the content: comments, spaces and line ends don't count. */
  readonly digest: string
  readonly description: string | undefined
  readonly steps: ReadonlyMap<string, readonly MigrationStep[]>
}
