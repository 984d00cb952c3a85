/** What migrations make of one stored object, and whether the result fits the schema. */
import { represent, type StoredObject } from '../../resources/object.ts'
import type { Resource } from '../../resources/resource.ts'
import { UnfitObject } from '../../store/errors.ts'
import type { PlannedChange } from '../../store/migrations.ts'
import { applyStep, StepRefused } from './apply-step.ts'
import type { Migration } from './step.ts'

const KEEP: PlannedChange = { kind: 'keep' }

/** Applies the migrations in their order. Throws UnfitObject. */
export function changeObject(
  resource: Resource,
  object: StoredObject,
  migrations: readonly Migration[],
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
