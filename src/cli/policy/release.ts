/** sallyport policy apply, promote, rollback: put a policy in force; history.ts and blocks.ts have what belongs to it. */
import type { Command } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import type { CarryOut } from '../../tools/release/carry-out.ts'
import type { PlanOptions } from '../../tools/release/plan.ts'
import { POLICIES, SCHEMAS, settingsWith, TEXT_OR_JSON, wholeNumber, withHelp } from '../options.ts'
import { declareBlocks } from './blocks.ts'
import { declareExport, declareHistory } from './history.ts'
import { inReleaseTarget } from './policy-place.ts'
import { declareStatus } from './status.ts'

interface ReleaseFlags {
  readonly policies?: string
  readonly schemas?: string
  readonly to?: string
  readonly over?: number
  readonly reason?: string
  readonly recover?: true
  readonly yes?: true
  readonly dryRun?: true
  readonly format: 'text' | 'json'
}

export function declareRelease(policy: Command): void {
  declareApply(policy)
  declarePromote(policy)
  declareRollback(policy)
  declareHistory(policy)
  declareExport(policy)
  declareStatus(policy)
  declareBlocks(policy)
}

function withReleaseOptions(command: Command) {
  return command
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .option('--reason <text>', 'the reason, kept in the history')
    .option('--yes', 'do not ask for confirmation')
    .option('--dry-run', 'only show what would change')
    .addOption(TEXT_OR_JSON)
}

function declareApply(policy: Command): void {
  withReleaseOptions(
    withHelp(policy.command('apply'), {
      about: 'check a directory of policy files, show what it changes, and put it in force',
      note: `The command checks the files of DIR and compares them with the policy in force. Then all files change at
once, and a running server uses them within a second. If the files in force were edited by hand, they are first kept
as a version.
With database:, the command signs the version with POLICY_SIGNING_KEY; instances with POLICIES=database: follow it.
Exit code: 0, or 1 when the files have errors or you answer no, or 2 when it could not run.`,
      examples: [
        'policy apply policies-new --reason "accountants see accounts"',
        'policy apply policies --to database:',
      ],
    }),
  )
    .argument('<dir>', 'policy files')
    .option('--to <target>', 'the policy directory, or database: to publish a version in the database (POLICIES)')
    .option(
      '--over <version>',
      'publish although the last version in the database, with this number, is not valid',
      wholeNumber(1, 999_999),
    )
    .option(
      '--recover',
      'publish without the approvals that the version in force asks for, with a key of POLICY_PUBLIC_KEYS',
    )
    .action(async (candidate, flags) => apply(candidate, flags))
}

function declarePromote(policy: Command): void {
  withReleaseOptions(
    withHelp(policy.command('promote'), {
      about: 'put the candidate of the server (POLICY_CANDIDATE) in force, like apply',
      examples: ['policy promote --dry-run'],
    }),
  )
    .option('--candidate <dir>', 'policy files (POLICY_CANDIDATE)')
    .action(async (flags) => {
      const { ToolError } = await import('../../tools/load-policy.ts')
      const candidate = flags.candidate ?? (await settingsWith({})).policyCandidate
      if (candidate !== undefined) return apply(candidate, flags)
      throw new ToolError('there is no candidate: set POLICY_CANDIDATE, or give --candidate DIR')
    })
}

function declareRollback(policy: Command): void {
  withReleaseOptions(
    withHelp(policy.command('rollback'), {
      about: 'put an earlier version in force again',
      note: `Without a version, the previous version returns; a second rollback returns the one before it.
blocked.txt does not change.
Exit code: as for apply.`,
      examples: ['policy rollback --reason "accountants saw too much"', 'policy rollback --to 3 --yes'],
    }),
  )
    .option(
      '--to <version>',
      'the number or revision of the version, as `policy history` shows it; database: or database:<version> for the ' +
        'database',
    )
    .action(async ({ to, ...flags }) => {
      const { planRollback } = await import('../../tools/release/plan.ts')
      const { carryOutRelease } = await import('../../tools/release/carry-out.ts')
      const inDatabase = to?.startsWith(DATABASE_POLICIES)
      const version = inDatabase ? to?.slice(DATABASE_POLICIES.length) || undefined : to
      const target = inDatabase ? { to: DATABASE_POLICIES } : {}
      await release({ ...flags, ...target }, async ({ over, how }) => {
        const { plan, of } = await planRollback(version, over)
        return carryOutRelease(plan, { ...how, kind: 'rolled-back', of })
      })
    })
}

async function apply(candidate: string, flags: ReleaseFlags): Promise<void> {
  const { planApply } = await import('../../tools/release/plan.ts')
  const { carryOutRelease } = await import('../../tools/release/carry-out.ts')
  const { recover = false, ...others } = flags
  await release(others, async ({ over, how }) => {
    const kind = recover ? 'recovered' : 'applied'
    return carryOutRelease(await planApply(candidate, over), { ...how, kind, of: undefined })
  })
}

/** The files that a plan replaces, and how to carry it out. */
interface Release {
  readonly over: PlanOptions
  readonly how: Omit<CarryOut, 'kind' | 'of'>
}

/** Throws ConfigError and FileError. */
async function release(flags: ReleaseFlags, work: (release: Release) => Promise<0 | 1>): Promise<void> {
  const { reason, yes = false, dryRun = false, format, over, to, ...given } = flags
  const { loadResources } = await import('../../resources/load/load-resources.ts')
  const usual = await settingsWith(given)
  const resources = await loadResources(usual.schemas)
  const now = new Date(usual.now)
  const code = await inReleaseTarget({ ...usual, policies: to ?? usual.policies, over }, (target) =>
    work({ over: { target, resources, now }, how: { reason, now, yes, dryRun, format } }),
  )
  setExitCode(code)
}
