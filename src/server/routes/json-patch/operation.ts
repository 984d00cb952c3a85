/** The operations of a JSON Patch (RFC 6902 section 4) for a resource, and the fields that they name and read. */
import type { Json } from '../../../resources/resource.ts'

/** Reference tokens (RFC 6901 section 4), decoded; the first is a field of the resource. */
export type Pointer = readonly [string, ...string[]]

export type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: Json }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer }

interface PatchFields {
  /** The fields that the patch would write. */
  readonly named: ReadonlySet<string>
  /** Fields whose stored value the result of the patch could reveal, even if only that the value exists. */
  readonly read: ReadonlySet<string>
}

export function fieldsOf(operations: readonly PatchOperation[]): PatchFields {
  return {
    named: new Set(operations.flatMap(written).map(([field]) => field)),
    read: new Set(operations.flatMap(looked).map(([field]) => field)),
  }
}

function written(operation: PatchOperation): readonly Pointer[] {
  if (operation.op === 'test') return []
  return operation.op === 'move' ? [operation.from, operation.path] : [operation.path]
}

/**
 * Only `add` of a whole field succeeds for any stored value. Every other operation needs the places that it names, or
 * their parents.
 */
function looked(operation: PatchOperation): readonly Pointer[] {
  const { op, path } = operation
  const target = op === 'test' || op === 'remove' || op === 'replace' || path.length > 1 ? [path] : []
  return 'from' in operation ? [operation.from, ...target] : target
}
