/** What the server and the thread that parses a policy tell each other: types only. */

import type { Diagnostic } from '../../base/diagnostic.ts'
import type { PackedPolicy } from '../../decide/rules/rule-table.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import type { Resource } from '../../resources/resource.ts'
import type { SourceText } from '../../resources/schema/schema-file.ts'

export interface ParserData {
  readonly files: PolicyFiles
  /** What the server runs with, serialized (node:v8): `ToldResources`. */
  readonly resources: Uint8Array
  /** What the validators are compiled from. */
  readonly schemas: readonly SourceText[]
}

/** Without the validators, which can't be told. */
export type ToldResources = readonly Omit<Resource, 'validate'>[]

export type FromParser =
  | { readonly kind: 'policy'; readonly policy: PackedPolicy }
  | { readonly kind: 'faulty'; readonly diagnostics: readonly Diagnostic[]; readonly more: number }
