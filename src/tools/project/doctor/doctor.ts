/**
 * Looks at an installation with the settings and the readers of a server, beside one that may run. It changes nothing
 * but a temporary file of its own. No check hides another one, and each ends in time.
 */
import { type Checked, faulted, passed, unchecked, warned } from '../../../base/problems/checked.ts'
import { answerWithin } from '../../../base/under-way.ts'
import type { Config, Flags } from '../../../config/config.ts'
import { fixOf } from '../../../config/fix-of.ts'
import { databaseFault } from '../../../config/start/start-faults.ts'
import { DATABASE_POLICIES } from '../../../identity/keys/published-settings.ts'
import { StoreUnavailable } from '../../../store/errors.ts'
import type { Examined } from '../../../store/object-reader.ts'
import { examineDatabase } from '../../../store/open.ts'
import type { PolicyPlace } from '../../load-policy.ts'
import { checkDataFolder, checkDecisionLog, checkPolicyFolders } from './folders.ts'
import { checkKeys } from './keys.ts'
import { checkClock, checkLimits, checkNode, checkPorts, checkProgram } from './machine.ts'
import { checkMigrations, checkRules, lookAtSchemas } from './policy.ts'
import { readSettings } from './settings.ts'

export interface DoctorOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly flags: Flags
  readonly placeOf: (config: Config) => PolicyPlace
  /** A sentence for each break-glass that nobody else has reviewed. */
  readonly unreviewed: (config: Config) => Promise<readonly string[]>
}

export interface Diagnosis {
  /** The worst of all checks. */
  readonly state: 'ok' | 'warning' | 'fault'
  readonly checks: readonly Checked[]
}

/** What others must answer ends after so long. */
const LONGEST_MS = 5000
/** Reading files and checking rules, which takes as long as they are many and the machine is busy. */
const LONGEST_WORK_MS = 60_000

type Checks = Promise<readonly Checked[]>

export async function examineInstallation({
  environment,
  flags,
  placeOf,
  unreviewed,
}: DoctorOptions): Promise<Diagnosis> {
  const { config, checks: settings, faulty } = readSettings(environment, flags)
  const unless = (names: readonly string[], check: string, work: () => Checks): Checks => {
    const wrong = names.find((name) => faulty.has(name))
    if (wrong !== undefined) return Promise.resolve([unchecked(check, `${wrong} is wrong`)])
    return bounded(check, work)
  }
  const database = lookAtDatabase(config)
  const examined = database.then(({ found }) => found)
  const found = await Promise.all([
    bounded('node', checkNode),
    bounded('program', checkProgram, LONGEST_WORK_MS),
    settings,
    bounded('data folder', () => checkDataFolder(config)),
    bounded('decision log', () => checkDecisionLog(config)),
    bounded('folders', () => checkPolicyFolders(config), LONGEST_WORK_MS),
    bounded('policy', () => checkPolicy(config, placeOf), LONGEST_WORK_MS),
    bounded('break-glass', () => checkBreakGlass(config, unreviewed), LONGEST_WORK_MS),
    bounded('webhooks', () => checkWebhooks(config), LONGEST_WORK_MS),
    unless(['DATABASE_URL', 'DATABASE_POOL', 'DATABASE_POOLER'], 'database', async () => (await database).checks),
    unless(['REDIS_URL'], 'redis', () => checkRedis(config)),
    unless(['KEYS_SECRET', 'KEYS_SECRET_OLD'], 'keys', () => checkKeys(config, examined)),
    bounded('clock', checkClock),
    unless(['PORT', 'HOST', 'ADMIN_PORT', 'ADMIN_HOST'], 'ports', () => checkPorts(config)),
    bounded('limits', () => checkLimits(config.workers)),
  ])
  const checks = found.flat()
  const has = (state: Checked['state']) => checks.some((one) => one.state === state)
  return { state: has('fault') ? 'fault' : has('warning') ? 'warning' : 'ok', checks }
}

async function bounded(check: string, work: () => Checks, longestMs = LONGEST_MS): Checks {
  try {
    return await answerWithin(longestMs, work())
  } catch (error) {
    return [faulted(check, (error as Error).message, fixOf(error))]
  }
}

/** The rules need the schemas, and the migrations too. */
async function checkPolicy(config: Config, placeOf: DoctorOptions['placeOf']): Checks {
  const isMissing = (await checkPolicyFolders(config)).some(({ state }) => state === 'fault')
  if (isMissing) return [unchecked('policy', 'the folders are wrong')]
  const { resources, checks } = await lookAtSchemas(config)
  if (resources === undefined) return [...checks, unchecked('policy', 'the schemas are faulty')]
  const [rules, migrations] = await Promise.all([
    bounded('policy', () => checkRules(config, resources, placeOf(config))),
    bounded('migrations', () => checkMigrations(config, resources)),
  ])
  return [...checks, ...rules, ...migrations]
}

/** Only a policy in the database knows it. */
async function checkBreakGlass(config: Config, unreviewed: DoctorOptions['unreviewed']): Checks {
  if (config.policies !== DATABASE_POLICIES) return []
  const sentences = await unreviewed(config)
  if (sentences.length === 0) return [passed('break-glass', 'no break-glass waits for its review')]
  return sentences.map((sentence) => faulted('break-glass', sentence))
}

/** Other checks say what is wrong with the policy or the database. */
async function checkWebhooks(config: Config): Checks {
  const { listSubscriptions } = await import('../../events/subscriptions.ts')
  const listed = (await listSubscriptions(config).catch(() => [])).filter(({ state }) => state !== 'disabled')
  const failing = listed.filter(({ failingSince }) => failingSince !== null)
  if (listed.length > 0 && failing.length === 0) return [passed('webhooks', 'no subscription fails')]
  return failing.map(({ name, why, failingSince }) =>
    warned('webhooks', `${name} fails since ${failingSince}: ${why}`, `sallyport events list ${name}`),
  )
}

/** Never rejects. */
async function lookAtDatabase({
  database,
  workers,
  limitInstances,
}: Config): Promise<{ readonly checks: readonly Checked[]; readonly found: Examined | undefined }> {
  try {
    const processes = Math.max(1, limitInstances) * (workers === 1 ? 1 : workers + 1)
    const found = await answerWithin(LONGEST_MS, examineDatabase(database, processes))
    return { checks: found.checks, found }
  } catch (error) {
    const fault = error instanceof StoreUnavailable ? await databaseFault(database, error) : (error as Error)
    return { checks: [faulted('database', fault.message, fixOf(fault))], found: undefined }
  }
}

async function checkRedis({ redisUrl, workers }: Config): Checks {
  if (redisUrl === undefined) {
    const message = 'REDIS_URL is not set: each process counts rate limits for itself'
    return [workers > 1 ? unchecked('redis', message) : passed('redis', message)]
  }
  return (await import('../../../limits/examine-redis.ts')).examineRedis(redisUrl)
}
