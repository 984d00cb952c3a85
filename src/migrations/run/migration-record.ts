/** The decision record of a batch: it has the changes of a migration in place of a caller's request. */
import { randomUUID } from 'node:crypto'
import { MASKED } from '../../decision-log/decision-record.ts'
import { recordLine } from '../../decision-log/record-line.ts'
import type { Migration } from '../steps/step.ts'

export interface RecordedBatch {
  readonly migration: Pick<Migration, 'name' | 'digest'>
  readonly resource: string
  readonly changed: readonly { readonly id: string; readonly isDeleted: boolean }[]
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string
  readonly started: number
  /** Whether masks.yaml hides the ids of a resource's objects. */
  readonly hidesIds: (resource: string) => boolean
}

const REVISION_LENGTH = 16

/** One line, without its end. */
export function migrationRecord({ migration, resource, changed, time, started, hidesIds }: RecordedBatch): string {
  const areHidden = hidesIds(resource)
  const idsWhere = (deleted: boolean) => {
    return changed.filter(({ isDeleted }) => isDeleted === deleted).map(({ id }) => (areHidden ? MASKED : id))
  }
  return recordLine({
    time,
    requestId: randomUUID(),
    revision: migration.digest.slice(0, REVISION_LENGTH),
    method: 'MIGRATE',
    resource,
    action: 'migrate',
    subject: `migration:${migration.name.slice(0, 4)}`,
    outcome: 'allowed',
    status: 200,
    migrated: { changed: idsWhere(false), deleted: idsWhere(true) },
    microseconds: Math.round((performance.now() - started) * 1000),
  })
}
