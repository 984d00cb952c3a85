/** Opens the directory for a command, beside a server that may be running. */
import type { Config } from '../config/config.ts'
import { type Policy, USERS } from '../decide/policy.ts'
import { type DirectoryAccess, DirectoryError } from '../identity/directory/directory-access.ts'
import { DATABASE_POLICIES } from '../identity/keys/published-settings.ts'
import { loadResources } from '../resources/load/load-resources.ts'
import type { Resources } from '../resources/resource.ts'
import { StoreUnavailable } from '../store/errors.ts'
import { type Database, databaseExists, openDatabaseBeside, settingsOf } from '../store/open.ts'

/** Throws DirectoryError, FileError or UnfitDatabase. */
export async function openDirectoryBeside(config: Config): Promise<DirectoryAccess> {
  const { database, schemas } = config
  if (!databaseExists(database)) {
    throw new DirectoryError(
      `there is no database \`${database.name}\`; start the server once, or set DATA_DIR to its data folder`,
    )
  }
  const resources = await loadResources(schemas)
  const { store, seeding, directory } = await openDatabaseBeside(database, {
    resources: peopleIn(resources),
    now: () => new Date(),
  }).catch((error) => {
    throw error instanceof StoreUnavailable ? unusable(database, error) : error
  })
  return {
    directory,
    seeding,
    store,
    resources,
    // Most commands don't need the policy, which takes as long to load as everything else.
    policy: () => readPolicyInForce(config, resources),
    close: () => store.close(),
  }
}

function unusable(database: Database, { why }: StoreUnavailable): DirectoryError {
  return new DirectoryError(
    `the database ${database.name} can't be used (${why}); check ${settingsOf(database)}, then try again`,
  )
}

/** Throws FileError, and what the database throws. */
export async function readPolicyInForce(config: Config, resources: Resources): Promise<Policy> {
  if (config.policies !== DATABASE_POLICIES) {
    const { loadPolicy } = await import('./load-policy.ts')
    return (await loadPolicy(config.policies, resources)).policy
  }
  const { readPublishedFiles } = await import('../server/parts/open-published-policy.ts')
  const { parsePolicy } = await import('../policy/parse/parse-policy.ts')
  return parsePolicy(await readPublishedFiles(config), resources)
}

/** No other table is used: it may belong to other schemas. */
function peopleIn({ byName }: Resources): Resources {
  const people = byName.get(USERS)
  return { byName: new Map(people ? [[USERS, people]] : []), routes: [] }
}
