/** Refuses to serve stored objects that don't fit the schemas, or that a migration hasn't reached. */
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import { refusalOfChange } from '../../decide/role-guarantees.ts'
import { hidesIds } from '../../decision-log/mask.ts'
import { readMigrations } from '../../migrations/file/read-migrations.ts'
import { fitToStart } from '../../migrations/fit/fit-to-start.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Migrations } from '../../store/migrations.ts'

interface FitParts {
  readonly store: Migrations
  readonly resources: Resources
  readonly policy: LivePolicy
  readonly now: () => Date
  readonly log: Pick<Logger, 'info'>
}

/** Throws MigrationRefused, FileError for faulty migrations, and what the store throws. */
export async function fitData({ migrations, migrate }: Config, parts: FitParts): Promise<void> {
  const { store, resources, policy, now, log } = parts
  await fitToStart({
    store,
    resources,
    files: await readMigrations(migrations),
    now,
    hidesIds: (resource) => hidesIds(policy.active.snapshot.masks, resource),
    refused: refusalOfChange(policy.active.snapshot.roleGuarantees),
    migrate,
    log: (message, facts) => log.info(facts, message),
  })
}
