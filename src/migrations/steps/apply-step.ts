/** One step, applied to one document. Pure: the argument stays as it is, and other fields keep their places. */

import { isDeepStrictEqual } from 'node:util'
import { type Document, represent, type StoredObject } from '../../resources/object.ts'
import type { Json, Resource } from '../../resources/resource.ts'
import { UnfitObject } from '../../store/errors.ts'
import type { PlannedChange } from '../../store/migrations.ts'
import type { Migration, MigrationStep } from './step.ts'

const LONGEST_SHOWN = 60

/** Why a step can't be applied; the rest of a sentence about the object. */
export class StepRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'StepRefused'
  }
}

/** The document after the step; the same object if nothing changes, undefined if the step deletes it. Throws StepRefused. */
export function applyStep(document: Document, step: MigrationStep): Document | undefined {
  if (step.rename) return rename(document, step.rename)
  if (step.copy) return copy(document, step.copy)
  if (step.default) return withDefault(document, step.default.field, step.default.value)
  if (step.map) return mapValues(document, step.map)
  if (step.drop) return drop(document, step.drop)
  if (step.list) return changeFields(document, step.list, (value) => (Array.isArray(value) ? value : [value]))
  if (step.single) return toSingle(document, step.single)
  if (step.delete) return meets(document, step.delete.where) ? undefined : document
  throw new Error('a step has no name')
}

function has(document: Document, field: string): boolean {
  return Object.hasOwn(document, field)
}

function rename(document: Document, { from, to }: NonNullable<MigrationStep['rename']>): Document {
  if (!has(document, from) || from === to) return document
  if (!has(document, to)) {
    return Object.fromEntries(Object.entries(document).map(([name, value]) => [name === from ? to : name, value]))
  }
  if (isSame(document[from], document[to])) return drop(document, [from])
  throw new StepRefused(`\`${from}\` can't be renamed: \`${to}\` has another value already`)
}

function copy(document: Document, { from, to }: NonNullable<MigrationStep['copy']>): Document {
  return has(document, from) ? withDefault(document, to, document[from] as Json) : document
}

function withDefault(document: Document, field: string, value: Json): Document {
  // A computed name, so that `__proto__` is a field like others.
  return has(document, field) ? document : { ...document, [field]: value }
}

function drop(document: Document, fields: readonly string[]): Document {
  if (!fields.some((field) => has(document, field))) return document
  return Object.fromEntries(Object.entries(document).filter(([name]) => !fields.includes(name)))
}

function mapValues(document: Document, { field, values, others }: NonNullable<MigrationStep['map']>): Document {
  return changeFields(document, [field], (value) => {
    const entry = values.find(({ from }) => isSame(from, value))
    if (entry) return entry.to
    if (others === 'keep') return value
    throw new StepRefused(`\`${field}\` has a value that \`map\` doesn't list: ${shown(value)}`)
  })
}

/** Long values may be texts that people wrote; the values to map are short. */
function shown(value: Json): string {
  const text = JSON.stringify(value)
  return text.length <= LONGEST_SHOWN ? `\`${text}\`` : 'a long one'
}

function toSingle(document: Document, fields: readonly string[]): Document {
  const isEmpty = (field: string) => has(document, field) && isSame(document[field], [])
  return changeFields(drop(document, fields.filter(isEmpty)), fields, (value, field) => {
    if (!Array.isArray(value)) return value
    if (value.length === 1) return value[0]
    throw new StepRefused(`\`${field}\` can't become a single value: it has ${value.length} elements`)
  })
}

type ChangeValue = (value: Json, field: string) => Json

function changeFields(document: Document, fields: readonly string[], change: ChangeValue): Document {
  let changed: Record<string, Json> | undefined
  for (const field of fields) {
    if (!has(document, field)) continue
    const before = document[field] as Json
    const after = change(before, field)
    if (isSame(before, after)) continue
    changed ??= { ...document }
    Object.defineProperty(changed, field, { value: after, writable: true, enumerable: true, configurable: true })
  }
  return changed ?? document
}

function meets(document: Document, where: Readonly<Record<string, readonly Json[]>>): boolean {
  return Object.entries(where).every(([field, values]) => {
    return has(document, field) && values.some((value) => isSame(value, document[field]))
  })
}

/** As JSON has it: the order of members doesn't count. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && isDeepStrictEqual(plain(a), plain(b)))
}

/** -0 and 0 are one number in JSON, and prototypes don't count. */
function plain(value: object | null): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** Why the policy's guarantees about people don't allow what a migration makes of an object; undefined if they do. */
export type RefusedChange = (resource: string, after: Document, before: Document) => string | undefined

const KEEP: PlannedChange = { kind: 'keep' }

/** Applies the migrations in their order. Throws UnfitObject. */
export function changeObject(
  resource: Resource,
  object: StoredObject,
  migrations: readonly Migration[],
  refused?: RefusedChange,
): PlannedChange {
  let document = object.document
  const by: number[] = []
  for (const { number, steps } of migrations) {
    const before = document
    for (const step of steps.get(resource.name) ?? []) {
      const after = refusing(resource, object, () => applyStep(document, step))
      if (after === undefined) return { kind: 'delete', by: [...by, number] }
      document = after
    }
    if (document !== before) by.push(number)
  }
  refuseUnfit(resource, { ...object, document })
  const why = document === object.document ? undefined : refused?.(resource.name, document, object.document)
  if (why !== undefined) throw new UnfitObject(resource.name, object.id, why)
  return document === object.document ? KEEP : { kind: 'rewrite', document, by }
}

/** Throws UnfitObject. */
function refuseUnfit(resource: Resource, object: StoredObject): void {
  const [fault, ...more] = resource.validate(represent(object))
  if (!fault) return
  const place = fault.pointer === '' ? '' : `\`${fault.pointer}\` `
  const others = more.length > 0 ? ` (and ${more.length} more)` : ''
  throw new UnfitObject(resource.name, object.id, `${place}${fault.detail}${others}`)
}

function refusing<T>(resource: Resource, { id }: StoredObject, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof StepRefused ? new UnfitObject(resource.name, id, error.message) : error
  }
}
