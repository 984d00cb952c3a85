/** sallyport policy status: the instances that follow the policy in the database, and what they have in force. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import type { Config } from '../../config/config.ts'
import { printResult } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import { table } from '../../present/text.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'
import { unreviewedIn } from '../grants.ts'
import { lifetime, settingsWith, TEXT_OR_JSON, withHelp } from '../options.ts'
import { inVersions } from './policy-place.ts'

const LOOK_MS = 100

interface InstanceStatus {
  readonly instance: string
  /** `current`: it has the last version. */
  readonly state: 'current' | 'behind' | 'silent'
  readonly sequence: number
  readonly revision: string
  /** Since the instance reported its state. */
  readonly ageSeconds: number
  readonly faults: readonly string[]
  /** Why scheduled proposals are not in force. */
  readonly overdue: readonly string[]
}

interface InstancesStatus {
  /** Its id. */
  readonly database: string
  readonly latest: number
  readonly instances: readonly InstanceStatus[]
  /** Break-glasses that nobody else has reviewed, a sentence each. */
  readonly unreviewed: readonly string[]
}

export function declareStatus(policy: Command): void {
  withHelp(policy.command('status'), {
    about: 'list the instances that follow the policy in the database (POLICIES=database:)',
    note: `Every process of an instance reports its state at each change and every five seconds. Proposals whose time has come, and
that are not in force, are listed too.
Exit code: 0 when each instance has the last version, 1 when one is behind (with --wait, still behind) or a break-glass has no review,
2 when the command could not run.`,
    examples: ['policy status', 'policy status --wait 10s --format json'],
  })
    .option('--wait <duration>', 'wait until no instance is behind, but not longer: 10s, 2m', lifetime)
    .addOption(TEXT_OR_JSON)
    .action(async ({ wait = 0, format }) => {
      const settings = await settingsWith({})
      const instances = await inVersions(settings, (versions) => readStatus(versions, wait))
      const status = { ...instances, unreviewed: await unreviewedHere(settings) }
      printResult(format, status, textOf(status))
      if (isBehind(status) || status.unreviewed.length > 0) setExitCode(1)
    })
}

/** Who has no keys of the policy, or a last version that isn't valid, still wants to know about the instances. */
async function unreviewedHere(settings: Config): Promise<readonly string[]> {
  try {
    return await unreviewedIn(settings)
  } catch (error) {
    return [`whether each break-glass was reviewed is unknown: ${(error as Error).message}`]
  }
}

function isBehind({ instances }: Pick<InstancesStatus, 'instances'>): boolean {
  return instances.some(({ state }) => state === 'behind')
}

async function readStatus(versions: PolicyVersions, waitMs: number): Promise<Omit<InstancesStatus, 'unreviewed'>> {
  const end = performance.now() + waitMs
  for (;;) {
    const status = await statusOf(versions)
    if (!isBehind(status) || performance.now() >= end) return status
    await sleep(LOOK_MS)
  }
}

async function statusOf(versions: PolicyVersions): Promise<Omit<InstancesStatus, 'unreviewed'>> {
  const { readInstanceState, SILENT_AFTER_MS } = await import('../../policy/published/published-source.ts')
  const { id } = await versions.home()
  const latest = await versions.latest()
  const instances = (await versions.instances()).flatMap(({ name, state: text, ageMs }): readonly InstanceStatus[] => {
    const read = readInstanceState(text)
    if (!read) return []
    const state = ageMs > SILENT_AFTER_MS ? 'silent' : isCurrent(read, latest) ? 'current' : 'behind'
    const { sequence, revision, faults, overdue } = read
    return [{ instance: name, state, sequence, revision, ageSeconds: Math.round(ageMs / 100) / 10, faults, overdue }]
  })
  return { database: id, latest, instances }
}

function isCurrent({ sequence, faults }: Pick<InstanceStatus, 'sequence' | 'faults'>, latest: number): boolean {
  return sequence === latest && faults.length === 0
}

const EMPTY = 'The database has no published version.'
const HEAD = ['INSTANCE', 'STATE', 'VERSION', 'REVISION', 'REPORTED']

function textOf({ database, latest, instances, unreviewed }: InstancesStatus): string {
  const id = `The id of the database is ${printable(database)}.\n`
  const last = latest === 0 ? `${EMPTY}\n` : `The last version is ${latest}.\n${id}`
  const glass = unreviewed.length === 0 ? '' : `\n${unreviewed.map((one) => `${printable(one)}\n`).join('')}`
  if (instances.length === 0) return latest === 0 ? last : `${last}No instance follows it.\n${glass}`
  const rows = instances.map(({ instance, state, sequence, revision, ageSeconds }) => {
    return [printable(instance), state, String(sequence), printable(revision), `${ageSeconds.toFixed(1)} s ago`]
  })
  const faults = instances.flatMap(({ instance, faults }) => faults.map((one) => printable(`${instance}: ${one}`)))
  const overdue = [...new Set(instances.flatMap((one) => one.overdue))].map(printable)
  const told = [faults, overdue].flatMap((texts) => (texts.length > 0 ? ['', ...texts] : []))
  return `${last}\n${[...table([HEAD, ...rows]), ...told].join('\n')}\n${glass}`
}
