/** Opens the store that the configuration names, with indexes for what the policy's relations compare. */
import { type Config, ConfigError } from '../config.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Resources } from '../resources/resource.ts'
import { StoreUnavailable } from '../store/contract.ts'
import { makeFolder } from '../store/make-folder.ts'
import { openSqlite } from '../store/sqlite.ts'

/** Throws ConfigError, or UnfitDatabase. */
export async function openStore(
  config: Config,
  resources: Resources,
  policy: LivePolicy,
  now: () => Date,
): ReturnType<typeof openSqlite> {
  const { dataDirectory, databaseFile } = config
  await makeFolder(dataDirectory).catch(({ code }: NodeJS.ErrnoException) => {
    throw new ConfigError(
      `DATA_DIR is \`${dataDirectory}\`, which can't be used (${code}); it must be a folder to write in`,
    )
  })
  try {
    return await openSqlite({ file: databaseFile, resources, now, indexFields: comparedFields(resources, policy) })
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const why = error.cause instanceof Error ? error.cause.message : String(error.cause)
    throw new ConfigError(`the database ${databaseFile} can't be opened (${why}); see DATA_DIR and DATABASE_URL`)
  }
}

/** The fields that relations compare with the caller: lists look objects up by them. */
function comparedFields({ byName }: Resources, { active }: LivePolicy): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...byName.keys()].map((name) => [
      name,
      [...(active.snapshot.ownershipOf(name)?.relations.values() ?? [])]
        .filter(({ kind }) => kind === 'caller')
        .map(({ field }) => field),
    ]),
  )
}
