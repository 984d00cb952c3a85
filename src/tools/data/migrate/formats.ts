/** A rehearsal, a run and a status of migrations, as text for a terminal and as JSON (docs/schemas/). */

import type { Rehearsal } from '../../../migrations/run/rehearse.ts'
import type { RunResult } from '../../../migrations/run/run-migrations.ts'
import { printable } from '../../../present/quote.ts'
import { count } from '../../../present/text.ts'
import type { MigrationPlan, MigrationStatus } from './migrate-data.ts'

type MigratedObjects = { readonly name: string; readonly changed: number; readonly deleted: number }

export interface MigrationReport {
  readonly outcome: 'rehearsed' | 'ended' | 'stopped' | 'unfit' | 'nothing'
  /** The archive that was made first; null without one. */
  readonly backup: string | null
  /** Objects that were looked at. */
  readonly read: number
  readonly migrations: readonly MigratedObjects[]
  readonly examples: Rehearsal['examples']
  readonly misfits: number
  readonly firstMisfits: readonly { readonly resource: string; readonly id: string; readonly reason: string }[]
}

export function reportOf(
  plan: MigrationPlan,
  outcome: MigrationReport['outcome'],
  backup: string | null = null,
): MigrationReport {
  const { read, byMigration, examples, misfits, firstMisfits } = plan.rehearsal
  return {
    outcome,
    backup,
    read,
    migrations: plan.pending.map(({ name, number }) => {
      return { name, ...(byMigration.get(number) ?? { changed: 0, deleted: 0 }) }
    }),
    examples,
    misfits,
    firstMisfits: firstMisfits.map(({ resource, id, reason }) => ({ resource, id, reason })),
  }
}

export function reportText(report: MigrationReport, run?: RunResult): string {
  if (report.outcome === 'nothing')
    return 'Nothing to migrate: every migration has run, and the objects fit the schemas.\n'
  const { migrations, examples, misfits, firstMisfits, outcome } = report
  const lines = [
    ...migrations.map(countLine),
    ...(outcome === 'rehearsed' ? examples.flatMap(exampleLines) : []),
    ...(misfits > 0 ? [`${count(misfits, 'object')} would not fit the schemas:`] : []),
    ...firstMisfits.map(({ resource, id, reason }) => `  ${resource} ${id}: ${reason}`),
    ...(misfits > firstMisfits.length ? [`  and ${misfits - firstMisfits.length} more`] : []),
    lastLine(report, run),
  ]
  return `${lines.map(printable).join('\n')}\n`
}

function countLine({ name, changed, deleted }: MigratedObjects): string {
  const gone = deleted > 0 ? `, deletes ${deleted}` : ''
  return `${name}: changes ${count(changed, 'object')}${gone}`
}

function exampleLines({ resource, id, before, after }: Rehearsal['examples'][number]): readonly string[] {
  return [
    `  ${resource} ${id}`,
    `    - ${JSON.stringify(before)}`,
    after === null ? '    deleted' : `    + ${JSON.stringify(after)}`,
  ]
}

function lastLine({ outcome, read, misfits }: MigrationReport, run: RunResult | undefined): string {
  const looked = `${count(read, 'object')} looked at`
  if (misfits > 0) return `${looked}; nothing was changed`
  if (outcome === 'rehearsed') return `${looked}; nothing was changed, because this was a rehearsal`
  const changed = `${count(run?.objects ?? 0, 'object')} changed or deleted`
  if (outcome === 'stopped') return `${changed}; stopped: run \`sallyport data migrate\` again to go on`
  return `${changed}; the objects fit the schemas`
}

export function statusText({ stored, pending, fitsSchemas }: MigrationStatus): string {
  const ran = stored.map(({ name, begunAt, endedAt, objects, place }) => {
    if (endedAt !== undefined) return `${name}  ran ${endedAt}, ${count(objects, 'object')}`
    const where = place ? `at ${place.resource} ${place.id}` : 'at the beginning'
    return `${name}  began ${begunAt}, ${count(objects, 'object')} so far, ${where}`
  })
  const fit = fitsSchemas
    ? 'the objects fitted these schemas when they were last looked at'
    : 'the objects were not looked at with these schemas'
  return `${[...ran, ...pending.map((name) => `${name}  has not run`), fit].map(printable).join('\n')}\n`
}
