/**
 * sallyport policy apply, promote, rollback, history, export, status, block, unblock: the policy in force and its
 * blocked users.
 */
import { Argument, type Command, Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { timeText } from '../../base/time.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/values.ts'
import { DATABASE_POLICIES, versionNamed } from '../../identity/keys/published-settings.ts'
import { printNote, printResult } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import type { ProposedBlock } from '../../tools/approvals/propose-folder.ts'
import type { CarryOut } from '../../tools/release/carry-out.ts'
import type { PlanOptions } from '../../tools/release/plan.ts'
import type { PolicyVersion } from '../../tools/release/version.ts'
import { openDirectory } from '../identity/directory.ts'
import { futureMoment, POLICIES, SCHEMAS, settingsWith, TEXT_OR_JSON, wholeNumber, withHelp } from '../options.ts'
import { inReleaseTarget, inSignedVersions, inVersions, verifierOf } from './policy-place.ts'
import { inProposals, inProposalsAs, proposalNeeds } from './proposals.ts'
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
  declareBlock(policy)
  declareUnblock(policy)
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

const KINDS = {
  applied: 'applied',
  'rolled-back': 'rolled back',
  kept: 'kept (edited files)',
  blocked: 'blocked',
  unblocked: 'unblocked',
  approved: 'approved',
  recovered: 'recovered',
} as const

function declareHistory(policy: Command): void {
  withHelp(policy.command('history'), {
    about: 'list the versions that were in force, latest first; --verify checks those of the database',
    note: `Exit code: 0, 1 when --verify finds a version that is not valid, or 2 when it could not run.`,
    examples: [
      'policy history',
      'policy history --to database: --format json',
      'policy history --copy history.json',
      'policy history --verify --from history.json',
    ],
  })
    .addOption(POLICIES)
    .option('--to <target>', 'the policy directory or database: that `apply` writes to, like --policies')
    .option(
      '--verify',
      'verify the versions of the database one by one, from the first, and stop at one that is not valid',
    )
    .addOption(new Option('--from <file>', 'verify a file of --copy, without the database').implies({ verify: true }))
    .addOption(new Option('--copy <file>', 'write all versions of the database, with their files, into a new file'))
    .addOption(TEXT_OR_JSON)
    .action(async ({ format, to, verify, from, copy, ...flags }) => {
      const usual = await settingsWith(flags)
      if (copy !== undefined) return copyVersions(copy, usual, format)
      if (verify) return verifyVersions(from, usual, format)
      const policies = to ?? usual.policies
      const target = { ...usual, policies, over: 'any' } as const
      const { versionJson } = await import('../../tools/release/version.ts')
      const history = await inReleaseTarget(target, async (found) => {
        for (const sentence of found.refused) printNote(`sallyport: ${printable(sentence)}\n`)
        return (await found.history()).toReversed()
      })
      const none = `There are no versions of ${policies} yet: no policy was applied.\n`
      const text = history.map((version, i) => lineOf(version, i === 0)).join('') || none
      printResult(format, { versions: history.map(versionJson) }, text)
    })
}

type Format = 'text' | 'json'

async function copyVersions(file: string, settings: Config, format: Format): Promise<void> {
  const { copyHistory } = await import('../../tools/release/verify-history.ts')
  const versions = await inVersions(settings, (found) => copyHistory(found, file))
  printResult(format, { file, versions }, `${printable(file)} has ${versions} versions, with their files.\n`)
}

async function verifyVersions(file: string | undefined, settings: Config, format: Format): Promise<void> {
  const { readHistoryCopy, verifyHistory } = await import('../../tools/release/verify-history.ts')
  const { versionJson } = await import('../../tools/release/version.ts')
  const verifier = await verifierOf(settings)
  const { verified, broken, last } =
    file === undefined
      ? await inVersions(settings, (versions) => verifyHistory(versions, verifier))
      : await verifyHistory(await readHistoryCopy(file), verifier)
  const versions = verified.map((version) => ({ ...version, reason: version.reason, of: version.of }))
  const lines = versions.map((version) => lineOf(version, false)).join('')
  const end = broken
    ? `The first version that is not valid is ${broken.number}: ${printable(broken.why)}.\n`
    : `All ${versions.length} versions are valid.\n`
  const known = last ? `POLICY_KNOWN=${last.number}:${last.digest}\n` : ''
  const json = { versions: versions.map(versionJson), broken: broken ?? null, last: last ?? null }
  printResult(format, json, `${lines}${end}${known}`)
  if (broken) setExitCode(1)
}

function lineOf(version: PolicyVersion, inForce: boolean): string {
  const { number, revision, time, user, kind, of, reason, proposal, signed } = version
  const what = of === undefined ? KINDS[kind] : `${KINDS[kind]} to ${of}`
  const approvers = signed?.approvers.map(({ by }) => by).join(', ') || 'nobody else'
  const how = signed ? ` (proposal ${proposal}) by ${approvers}` : ''
  const why = reason === undefined ? '' : `: ${reason}`
  const who = printable(`${user}  ${what}${how}${why}`)
  return `${inForce ? '*' : ' '} ${String(number).padStart(4)}  ${revision}  ${time}  ${who}\n`
}

const BLOCK_KEY = [
  '--key <key>',
  'where approvals.yaml asks for approvals: your private Ed25519 key, a file or ssh-agent:NAME',
] as const

const USER = new Argument('<user>', 'user:<id>, or the e-mail address of a user')

function declareBlock(policy: Command): void {
  withHelp(policy.command('block'), {
    about: 'block a user at once, with a line in blocked.txt',
    note: `A running server refuses the user within a second, even while other policy files have errors.
If no user of this server has the id, the command blocks it anyway and says so.`,
    examples: ['policy block user:mallory --until 2h --reason "stolen laptop"'],
  })
    .addArgument(USER)
    .option(
      '--until <time>',
      'end of the block: 2027-01-31T18:00:00Z, 2027-01-31, tomorrow, or a duration from now (2h, 30d)',
      readEnd,
    )
    .option('--reason <text>', 'the reason, written as a comment into the file')
    .option(...BLOCK_KEY)
    .addOption(POLICIES)
    .addOption(TEXT_OR_JSON)
    .action(async (named, { until, reason, key, format, ...flags }) => {
      const { doubtAbout, idOf, soundSubject } = await import('../../identity/directory/directory-access.ts')
      const target = await settingsWith(flags)
      const id = soundSubject(await idOf(openDirectory, named))
      const added = { id, until, reason }
      const who = printable(`user:${id}`)
      const was = `${who} was already blocked for that long.\n`
      const done = `${who} is blocked${until === undefined ? '' : ` until ${until}`}.\n`
      const about = { user: `user:${id}`, blocked: true }
      if (key !== undefined) {
        const { proposeBlock } = await import('../../tools/approvals/propose-folder.ts')
        const proposed = await inProposalsAs(key, flags, (parts) => proposeBlock(added, parts))
        printProposedBlock(format, about, proposed, { was, done })
      } else {
        const changed = (await inReleaseTarget(target, (found) => found.block(added, new Date()))) === 'blocked'
        printResult(format, { ...about, changed }, changed ? done : was)
      }
      const doubt = await doubtAbout(openDirectory, id)
      if (doubt) printNote(`sallyport: ${printable(doubt)}\n`)
    })
}

function declareUnblock(policy: Command): void {
  withHelp(policy.command('unblock'), {
    about: 'remove a user from blocked.txt; the rules decide again',
    examples: ['policy unblock user:mallory'],
  })
    .addArgument(USER)
    .option(...BLOCK_KEY)
    .addOption(POLICIES)
    .addOption(TEXT_OR_JSON)
    .action(async (named, { key, format, ...flags }) => {
      const { idOf } = await import('../../identity/directory/directory-access.ts')
      const target = await settingsWith(flags)
      const written = await idOf(openDirectory, named)
      const textsOf = (id: string) => {
        const who = printable(`user:${id}`)
        return { was: `${who} was not blocked.\n`, done: `${who} is no longer blocked.\n` }
      }
      const about = (id: string) => ({ user: `user:${id}`, blocked: false })
      if (key !== undefined) {
        const { proposeUnblock } = await import('../../tools/approvals/propose-folder.ts')
        const [proposed, id] = await answerFor(written, (one) =>
          inProposalsAs(key, flags, (parts) => proposeUnblock(one, parts)),
        )
        printProposedBlock(format, about(id), proposed, textsOf(id))
        return
      }
      const unblock = async (one: string) =>
        (await inReleaseTarget(target, (found) => found.unblock(one, new Date()))) > 0 || undefined
      const [changed = false, id] = await answerFor(written, unblock)
      printResult(format, { ...about(id), changed }, textsOf(id)[changed ? 'done' : 'was'])
    })
}

/** The answer about a user, and the id: `user:bob@example.com` may mean the user with this address. */
async function answerFor<T>(written: string, ask: (id: string) => Promise<T | undefined>) {
  const found = await ask(written)
  if (found !== undefined) return [found, written] as const
  const { emailOwner } = await import('../../identity/directory/directory-access.ts')
  const owner = (await emailOwner(openDirectory, written)) ?? written
  return [owner === written ? undefined : await ask(owner), owner] as const
}

function printProposedBlock(
  format: 'text' | 'json',
  about: { readonly user: string; readonly blocked: boolean },
  proposed: ProposedBlock | undefined,
  { was, done }: { readonly was: string; readonly done: string },
): void {
  const { proposal, version, needs = [] } = proposed ?? {}
  const changed = version !== undefined
  const waits = `Proposal ${proposal} waits for approvals: ${printable(about.user)} is as before until it is published.\n`
  const json = { ...about, changed, proposal: proposal ?? null, version: version ?? null, needs }
  printResult(format, json, changed ? done : proposed ? `${waits}${proposalNeeds(needs)}` : was)
}

function declareExport(policy: Command): void {
  withHelp(policy.command('export'), {
    about: 'write the files of a version in the database, or of a proposal, into a new folder',
    note: `The version must be signed with a key of POLICY_PUBLIC_KEYS. All its files are written, or none.
The folder has the revision of the version, so a server or a reviewer can use it as a policy directory.`,
    examples: [
      'policy export policies-copy --from database:',
      'policy export policies-of-friday --from database:12',
      'policy export proposed --proposal 3',
    ],
  })
    .argument('<dir>', 'a folder that does not exist, or is empty')
    .option(
      '--from <version>',
      'database: for the last version, or database: with a number or a revision of `policy history` (POLICIES)',
    )
    .addOption(
      new Option('--proposal <number>', 'the files of a proposal (`policy proposals`), to test them')
        .argParser(wholeNumber(1, 999_999))
        .conflicts('from'),
    )
    .addOption(TEXT_OR_JSON)
    .action(async (directory, { from, proposal, format }) => {
      if (proposal !== undefined) return exportProposal(proposal, directory, format)
      const { exportVersion } = await import('../../tools/release/version.ts')
      const { readVersion } = await import('../../tools/release/published-versions.ts')
      const usual = await settingsWith({})
      const wanted = versionWanted(from ?? usual.policies)
      const { version, texts } = await inSignedVersions(usual, (signed) => readVersion(signed, wanted))
      await exportVersion(directory, texts)
      const { number, revision } = version
      const text = `Version ${number}, revision ${revision}, is in ${printable(directory)}. Its signature is valid.\n`
      printResult(format, { directory, number, revision, files: [...texts.keys()] }, text)
    })
}

async function exportProposal(proposal: number, directory: string, format: Format): Promise<void> {
  const { exportVersion } = await import('../../tools/release/version.ts')
  const { findProposal, wholeProposal } = await import('../../tools/approvals/proposals.ts')
  const { version, texts } = await inProposals({}, async ({ signed: { versions }, base }) => {
    return wholeProposal(versions, base, await findProposal(versions, base, proposal))
  })
  await exportVersion(directory, texts)
  const { number, revision } = version
  const text = `Proposal ${proposal}, revision ${revision}, is in ${printable(directory)}. Its signature is valid.\n`
  printResult(format, { directory, number, revision, files: [...texts.keys()], proposal }, text)
}

function versionWanted(named: string): string {
  const version = versionNamed(named)
  if (version !== undefined) return version
  throw new ConfigError(
    `\`${named}\` names no published version; give --from database:, or --from database: with a number or a revision`,
  )
}

function readEnd(text: string): string {
  return timeText(futureMoment(text))
}
