/**
 * sallyport policy apply, promote, rollback, history, export, status, block, unblock: the policy in force and its
 * blocked users.
 */
import { InvalidArgumentError } from 'commander'
import ms, { type StringValue } from 'ms'
import { setExitCode } from '../../base/command-process.ts'
import { MOMENT_FORMS, readMoment, timeFault, timeText } from '../../base/time.ts'
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import { printResult, tell } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import type { CarryOut } from '../../tools/release/carry-out.ts'
import type { PlanOptions } from '../../tools/release/plan.ts'
import type { Version } from '../../tools/release/version.ts'
import { openDirectory } from '../identity/directory.ts'
import { type CliCommand, POLICIES, type PolicySettings, type TextOrJson, wholeNumber } from '../options.ts'
import { declareExport } from './export.ts'
import { inReleaseTarget } from './release-target.ts'
import { declareStatus } from './status.ts'

interface ReleaseFlags {
  readonly policies?: string
  readonly to?: string
  readonly over?: number
  readonly schemas?: string
  readonly reason?: string
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly format: TextOrJson
}

export function declareRelease(policy: CliCommand, settings: PolicySettings): void {
  declareApply(policy, settings)
  declarePromote(policy, settings)
  declareRollback(policy, settings)
  declareHistory(policy, settings)
  declareExport(policy, settings)
  declareStatus(policy, settings)
  declareBlock(policy, settings)
  declareUnblock(policy, settings)
}

function withReleaseOptions(command: CliCommand): CliCommand {
  return command
    .folders()
    .option('--reason <text>', 'the reason, kept in the history')
    .option('--yes', 'do not ask for confirmation')
    .option('--dry-run', 'only show what would change')
    .formats()
}

function declareApply(policy: CliCommand, settings: PolicySettings): void {
  withReleaseOptions(policy.command('apply'))
    .description('check a directory of policy files, show what it changes, and put it in force')
    .argument('<dir>', 'policy files')
    .option('--to <target>', 'the policy directory, or database: to publish a version in the database (POLICIES)')
    .option(
      '--over <version>',
      'publish although the last version in the database, with this number, is not valid',
      wholeNumber(1, 999_999),
    )
    .note(`The command checks the files of DIR and compares them with the policy in force. Then all files change at
once, and a running server uses them within a second. If the files in force were edited by hand, they are first kept
as a version.
With database:, the command signs the version with POLICY_SIGNING_KEY; instances with POLICIES=database: follow it.
Exit code: 0, or 1 when the files have errors or you answer no, or 2 when it could not run.`)
    .examples('policy apply policies-new --reason "accountants see accounts"', 'policy apply policies --to database:')
    .action(async (candidate: string, flags: ReleaseFlags) => apply(candidate, settings, flags))
}

function declarePromote(policy: CliCommand, settings: PolicySettings): void {
  withReleaseOptions(policy.command('promote'))
    .description('put the candidate of the server (POLICY_CANDIDATE) in force, like apply')
    .option('--candidate <dir>', 'policy files (POLICY_CANDIDATE)')
    .examples('policy promote --dry-run')
    .action(async (flags: ReleaseFlags & { readonly candidate?: string }) => {
      const { ToolError } = await import('../../tools/load-policy.ts')
      const candidate = flags.candidate ?? settings().policyCandidate
      if (candidate !== undefined) return apply(candidate, settings, flags)
      throw new ToolError('there is no candidate: set POLICY_CANDIDATE, or give --candidate DIR')
    })
}

function declareRollback(policy: CliCommand, settings: PolicySettings): void {
  withReleaseOptions(policy.command('rollback'))
    .description('put an earlier version in force again')
    .option(
      '--to <version>',
      'the number or revision of the version, as `policy history` shows it; database: or database:<version> for the ' +
        'database',
    )
    .note(`Without a version, the previous version returns; a second rollback returns the one before it.
blocked.txt does not change.
Exit code: as for apply.`)
    .examples('policy rollback --reason "accountants saw too much"', 'policy rollback --to 3 --yes')
    .action(async ({ to, ...flags }: ReleaseFlags) => {
      const { planRollback } = await import('../../tools/release/return-target.ts')
      const { carryOutRelease } = await import('../../tools/release/carry-out.ts')
      const inDatabase = to?.startsWith(DATABASE_POLICIES)
      const version = inDatabase ? to?.slice(DATABASE_POLICIES.length) || undefined : to
      const target = inDatabase ? { to: DATABASE_POLICIES } : {}
      await release(settings, { ...flags, ...target }, async ({ over, how }) => {
        const { plan, of } = await planRollback(version, over)
        return carryOutRelease(plan, { ...how, kind: 'rolled-back', of })
      })
    })
}

async function apply(candidate: string, settings: PolicySettings, flags: ReleaseFlags): Promise<void> {
  const { planApply } = await import('../../tools/release/plan.ts')
  const { carryOutRelease } = await import('../../tools/release/carry-out.ts')
  await release(settings, flags, async ({ over, how }) => {
    return carryOutRelease(await planApply(candidate, over), { ...how, kind: 'applied', of: undefined })
  })
}

/** The files that a plan replaces, and how to carry it out. */
interface Release {
  readonly over: PlanOptions
  readonly how: Omit<CarryOut, 'kind' | 'of'>
}

/** Throws ConfigError and FileError. */
async function release(
  settings: PolicySettings,
  flags: ReleaseFlags,
  work: (release: Release) => Promise<0 | 1>,
): Promise<void> {
  const usual = settings()
  const { reason, yes = false, dryRun = false, format, over } = flags
  const { loadResources } = await import('../../resources/load/load-resources.ts')
  const resources = await loadResources(flags.schemas ?? usual.schemas)
  const now = new Date()
  const policies = flags.to ?? flags.policies ?? usual.policies
  const code = await inReleaseTarget({ ...usual, policies, over }, (target) =>
    work({ over: { target, resources, now }, how: { reason, now, yes, dryRun, format } }),
  )
  setExitCode(code)
}

const KINDS = {
  applied: 'applied',
  'rolled-back': 'rolled back',
  kept: 'kept (edited files)',
  blocked: 'blocked',
  unblocked: 'unblocked',
} as const

function declareHistory(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('history')
    .description('list the versions that were in force, latest first')
    .option(...POLICIES)
    .option('--to <target>', 'the policy directory or database: that `apply` writes to, like --policies')
    .formats()
    .examples('policy history', 'policy history --to database: --format json')
    .action(async (flags: Pick<ReleaseFlags, 'policies' | 'to' | 'format'>) => {
      const usual = settings()
      const policies = flags.to ?? flags.policies ?? usual.policies
      const target = { ...usual, policies, over: 'any' } as const
      const { versionJson } = await import('../../tools/release/version.ts')
      const history = await inReleaseTarget(target, async (found) => {
        for (const sentence of found.refused) tell(`sallyport: ${printable(sentence)}\n`)
        return (await found.history()).toReversed()
      })
      const none = `There are no versions of ${policies} yet: no policy was applied.\n`
      const text = history.map((version, i) => lineOf(version, i === 0)).join('') || none
      printResult(flags.format, { versions: history.map(versionJson) }, text)
    })
}

function lineOf({ number, revision, time, user, kind, of, reason }: Version, inForce: boolean): string {
  const what = of === undefined ? KINDS[kind] : `${KINDS[kind]} to ${of}`
  const why = reason === undefined ? '' : `: ${reason}`
  const who = printable(`${user}  ${what}${why}`)
  return `${inForce ? '*' : ' '} ${String(number).padStart(4)}  ${revision}  ${time}  ${who}\n`
}

const USER = ['<user>', 'user:<id>, or the e-mail address of a user'] as const

interface BlockFlags {
  readonly policies?: string
  readonly until?: string
  readonly reason?: string
  readonly format: TextOrJson
}

function declareBlock(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('block')
    .description('block a user at once, with a line in blocked.txt')
    .argument(...USER)
    .option(
      '--until <time>',
      'end of the block: 2027-01-31T18:00:00Z, 2027-01-31, tomorrow, or a duration from now (2h, 30d)',
      readEnd,
    )
    .option('--reason <text>', 'the reason, written as a comment into the file')
    .option(...POLICIES)
    .formats()
    .note(`A running server refuses the user within a second, even while other policy files have errors.
If no user of this server has the id, the command blocks it anyway and says so.`)
    .examples('policy block user:mallory --until 2h --reason "stolen laptop"')
    .action(async (named: string, flags: BlockFlags) => {
      const { doubtAbout, idOf, soundSubject } = await import('../../identity/directory/directory-access.ts')
      const { until, reason, ...target } = { ...settings(), ...flags }
      const id = soundSubject(await idOf(openDirectory, named))
      const added = { id, until, reason }
      const changed = (await inReleaseTarget(target, (found) => found.block(added, new Date()))) === 'blocked'
      const who = printable(`user:${id}`)
      const end = until === undefined ? '' : ` until ${until}`
      const text = changed ? `${who} is blocked${end}.\n` : `${who} was already blocked for that long.\n`
      printResult(flags.format, { user: `user:${id}`, blocked: true, changed }, text)
      const doubt = await doubtAbout(openDirectory, id)
      if (doubt) tell(`sallyport: ${printable(doubt)}\n`)
    })
}

function declareUnblock(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('unblock')
    .description('remove a user from blocked.txt; the rules decide again')
    .argument(...USER)
    .option(...POLICIES)
    .formats()
    .examples('policy unblock user:mallory')
    .action(async (named: string, flags: Pick<BlockFlags, 'policies' | 'format'>) => {
      const { emailOwner, idOf } = await import('../../identity/directory/directory-access.ts')
      const target = { ...settings(), ...flags }
      const unblock = (one: string) => inReleaseTarget(target, (found) => found.unblock(one, new Date()))
      const written = await idOf(openDirectory, named)
      const removed = await unblock(written)
      // `user:bob@example.com` may mean the user with this address.
      const id = removed > 0 ? written : ((await emailOwner(openDirectory, written)) ?? written)
      const changed = removed > 0 || (id !== written && (await unblock(id)) > 0)
      const text = `${printable(`user:${id}`)} ${changed ? 'is no longer blocked' : 'was not blocked'}.\n`
      printResult(flags.format, { user: `user:${id}`, blocked: false, changed }, text)
    })
}

function readEnd(text: string): string {
  const duration = /^\d+(\.\d+)? ?(s|m|h|d|w|seconds?|minutes?|hours?|days?|weeks?)$/.test(text)
    ? (ms(text as StringValue) ?? Number.NaN)
    : Number.NaN
  const time = Number.isNaN(duration) ? readMoment(text, Date.now()) : Date.now() + duration
  if (time === undefined)
    throw new InvalidArgumentError(`${timeFault(text)}: write ${MOMENT_FORMS}; 2h is in two hours.`)
  if (time <= Date.now()) throw new InvalidArgumentError('The time is in the past. Write a later one.')
  return timeText(time)
}
