/** What migrations make of one stored object, and whether the result fits the schema. */
import type { Document, StoredObject } from '../../resources/object.ts'
import { represent } from '../../resources/object.ts'
import type { Resource } from '../../resources/resource.ts'
import { applyStep, StepRefused } from './apply-step.ts'
import type { Migration } from './step.ts'

/** `by`: the numbers of the migrations that changed the object. */
export type Change =
  | { readonly kind: 'keep' }
  | { readonly kind: 'rewrite'; readonly document: Document; readonly by: readonly number[] }
  | { readonly kind: 'delete'; readonly by: readonly number[] }

/** An object that a step refuses, or that doesn't fit the schema after the last step. */
export class UnfitObject extends Error {
  readonly resource: string
  readonly id: string
  readonly reason: string
  constructor(resource: string, id: string, reason: string) {
    super(`\`${id}\` of \`${resource}\` does not fit: ${reason}`)
    this.name = 'UnfitObject'
    this.resource = resource
    this.id = id
    this.reason = reason
  }
}

const KEEP: Change = { kind: 'keep' }

/** Applies the migrations in their order. Throws UnfitObject. */
export function changeObject(resource: Resource, object: StoredObject, migrations: readonly Migration[]): Change {
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
