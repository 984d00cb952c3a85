/** Checks that every `$ref` names another schema of the same file, and that no chain of references is endless. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import { pointerOfPath } from '../../base/json-pointer.ts'
import { localPointer } from '../schema/references.ts'
import type { SchemaFile } from '../schema/schema-file.ts'
import { allSubschemas, innerSchemas, type Subschema } from '../schema/subschemas.ts'

type Targets = ReadonlyMap<string, Subschema>

export function checkReferences(file: SchemaFile): readonly Diagnostic[] {
  if (!isObject(file.json)) return []
  const all = allSubschemas(file.json)
  const targets: Targets = new Map(all.map((one) => [pointerOfPath(one.path), one]))
  return all.flatMap((one) => referenceFault(file, targets, one))
}

function referenceFault(file: SchemaFile, targets: Targets, one: Subschema): readonly Diagnostic[] {
  const reference = typeof one.schema === 'boolean' ? undefined : one.schema.$ref
  if (reference === undefined) return []
  const path = [...one.path, '$ref']
  const pointer = localPointer(reference)
  if (pointer === undefined) {
    return [file.fault(path, 'ref-outside', `\`${reference}\` does not refer to a place in this file`)]
  }
  if (!targets.has(pointer)) return [file.fault(path, 'ref-unknown', `there is no schema at \`${reference}\``)]
  if (!reaches(targets, one, one)) return []
  return [file.fault(path, 'ref-loop', `\`${reference}\` leads back to this schema for the same value, without end`)]
}

/** Whether validating a value with `from` leads to validating the same value with `goal`. */
function reaches(targets: Targets, from: Subschema, goal: Subschema, seen = new Set<string>()): boolean {
  return nextInPlace(targets, from).some((next) => {
    const pointer = pointerOfPath(next.path)
    if (pointer === pointerOfPath(goal.path)) return true
    if (seen.has(pointer)) return false
    seen.add(pointer)
    return reaches(targets, next, goal, seen)
  })
}

function nextInPlace(targets: Targets, one: Subschema): readonly Subschema[] {
  const pointer = typeof one.schema === 'boolean' ? undefined : localPointer(one.schema.$ref)
  const target = pointer === undefined ? undefined : targets.get(pointer)
  return [...innerSchemas(one).filter(({ inPlace }) => inPlace), ...(target ? [target] : [])]
}
