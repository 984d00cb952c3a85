/** Opens the policy that is published in the database, on a connection of its own. */
import { judgeHere } from '../../analysis/approvals/judge-here.ts'
import { AGAIN, againWith } from '../../base/problems/fix.ts'
import type { Config } from '../../config/config.ts'
import { openDataFolder } from '../../config/start/start-faults.ts'
import { ConfigError } from '../../config/values.ts'
import { readPolicyKeys } from '../../identity/keys/policy-keys.ts'
import { ofDatabase } from '../../identity/keys/published-settings.ts'
import { LivePolicy } from '../../policy/live/live-policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import { type KeptVersion, PublishedSource } from '../../policy/published/published-source.ts'
import type { VersionKeys } from '../../policy/published/signed-version.ts'
import type { KnownVersion } from '../../policy/published/version-chain.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import { databaseExists, fixOfDatabase, openPolicyVersions, settingsOf } from '../../store/open.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'
import { Comparer } from '../policy-changes/comparer.ts'
import { GrantFollower, logGrants } from '../policy-changes/follow-grants.ts'
import { KeptSequence, logChannel, VersionFollower } from '../policy-changes/follow-versions.ts'
import { judgeApart } from '../policy-changes/judge-apart.ts'
import { DueProposals, logDue } from '../policy-changes/publish-when-due.ts'
import { reportInstance } from '../policy-changes/report-instance.ts'
import type { OpenedPolicy, OpeningParts } from './opened-policy.ts'

const PUBLISH = 'POLICY_SIGNING_KEY=<file> sallyport policy apply policies --to database: --yes'

/** Throws FileError, ConfigError or KeyError. */
export async function openPublishedPolicy(parts: OpeningParts): Promise<OpenedPolicy> {
  const keys = await trustedKeys(parts.config)
  const versions = await openVersions(parts.config)
  try {
    return await follow(parts, versions, keys)
  } catch (error) {
    await versions.close()
    throw error instanceof StoreUnavailable ? await unreadable(parts.config, error) : error
  }
}

/** The files of the last version, for a command beside a server. Throws FileError, ConfigError or KeyError. */
export async function readPublishedFiles(config: Config): Promise<PolicyFiles> {
  const versions = await openVersions(config)
  try {
    const source = new PublishedSource(versions, {
      keys: await trustedKeys(config),
      judge: judgeHere(config.schemas),
      trusted: config.published.known,
      now: Date.now,
    })
    await source.look()
    return (await source.read()).files()
  } finally {
    await versions.close()
  }
}

async function trustedKeys({ published: { publicKeys } }: Config): Promise<VersionKeys> {
  if (publicKeys !== undefined) return readPolicyKeys(publicKeys)
  throw new ConfigError(
    'POLICIES is database:, but POLICY_PUBLIC_KEYS is not set; set it to files with public keys',
    againWith('POLICY_PUBLIC_KEYS', '<file>'),
  )
}

async function follow(
  { config, log, now, options, schemas, comparer = new Comparer({ schemas }) }: OpeningParts,
  versions: PolicyVersions,
  keys: VersionKeys,
): Promise<OpenedPolicy> {
  const { maxAgeMs } = config.published
  await openDataFolder(config.dataDirectory)
  const kept = new KeptSequence(config.dataDirectory, log)
  const clock = () => now().getTime()
  const chain = {
    versions,
    keys,
    judge: judgeApart(comparer, options.resources),
    trusted: config.published.known,
    now: clock,
  }
  const source = new PublishedSource(versions, { ...chain, followed: later(await kept.read(), chain.trusted) })
  await source.look()
  const policy = await LivePolicy.open({ ...options, source })
  const keep = (sequence: number) => {
    const digest = source.known?.number === sequence ? source.known.digest : undefined
    return kept.keep({ sequence, database: source.database, digest })
  }
  await keep(policy.active.sequence ?? 0)
  const report = logChannel(log, maxAgeMs)
  const reached = (sequence: number) => void keep(sequence)
  const channel = new VersionFollower({ policy, source, maxAgeMs, now: clock, reached, report })
  const due = new DueProposals({
    ...chain,
    resources: options.resources,
    inForce: () => source.files,
    known: () => source.known,
    report: logDue(log),
  })
  const grants = new GrantFollower({
    versions,
    resources: options.resources,
    policy,
    inForce: () => source.files,
    now: clock,
    report: logGrants(log),
  })
  await grants.look()
  const overdue = () => due.overdue
  const forget = reportInstance(config.instance, versions, { policy, overdue })
  const close = async () => {
    channel.close()
    await due.close()
    await grants.close()
    await comparer.end()
    await kept.close()
    await forget()
    await versions.close()
  }
  return { policy, channel, overdue, requests: grants, close }
}

/** An instance with an empty DATA_DIR begins where its operator says. */
function later(kept: KeptVersion, trusted: KnownVersion | undefined): KeptVersion {
  if (!trusted || trusted.number <= kept.sequence) return kept
  return { sequence: trusted.number, database: kept.database, digest: trusted.digest }
}

async function openVersions({ database, published }: Config): Promise<PolicyVersions> {
  if (!databaseExists(database)) {
    throw new ConfigError(
      `POLICIES is database:, but there is no database ${database.name}; publish a policy with ` +
        `\`sallyport policy apply DIR --to database:\`, or check ${settingsOf(database)}`,
      PUBLISH,
    )
  }
  try {
    const versions = await openPolicyVersions(database)
    if (versions) return await ofDatabase(versions, published)
  } catch (error) {
    throw error instanceof StoreUnavailable ? await unreadable({ database }, error) : error
  }
  throw new ConfigError(
    `POLICIES is database:, but the database ${database.name} keeps no policies; set DATABASE_URL to another one`,
    `env -u DATABASE_URL ${AGAIN}`,
  )
}

async function unreadable({ database }: Pick<Config, 'database'>, error: StoreUnavailable): Promise<ConfigError> {
  return new ConfigError(
    `the published policy can't be read from ${database.name} (${error.why}); check ${settingsOf(database)}`,
    await fixOfDatabase(database, error),
  )
}
