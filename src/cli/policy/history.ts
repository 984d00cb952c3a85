/** sallyport policy history, export: the versions that were in force, and their files. */
import { type Command, Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/values.ts'
import { versionNamed } from '../../identity/keys/published-settings.ts'
import { printNote, printResult } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import { count } from '../../present/text.ts'
import type { PolicyVersion } from '../../tools/release/version.ts'
import { POLICIES, settingsWith, TEXT_OR_JSON, wholeNumber, withHelp } from '../options.ts'
import { inReleaseTarget, inSignedVersions, inVersions, verifierOf } from './policy-place.ts'
import { inProposals } from './proposals.ts'

const KINDS = {
  applied: 'applied',
  'rolled-back': 'rolled back',
  kept: 'kept (edited files)',
  blocked: 'blocked',
  unblocked: 'unblocked',
  approved: 'approved',
  recovered: 'recovered',
} as const

export function declareHistory(policy: Command): void {
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
  printResult(format, { file, versions }, `${printable(file)} has ${count(versions, 'version')}, with all files.\n`)
}

function validText(versions: number): string {
  if (versions === 0) return 'There are no versions.\n'
  return versions === 1 ? 'The only version is valid.\n' : `All ${versions} versions are valid.\n`
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
    : validText(versions.length)
  const known = last ? `POLICY_KNOWN=${last.number}:${last.digest}\n` : ''
  const json = { versions: versions.map(versionJson), broken: broken ?? null, last: last ?? null }
  printResult(format, json, `${lines}${end}${known}`)
  if (broken) setExitCode(1)
}

function lineOf(version: PolicyVersion, inForce: boolean): string {
  const { number, revision, time, user, kind, of, reason, proposal, signed } = version
  const kindText = of === undefined ? KINDS[kind] : `${KINDS[kind]} to ${of}`
  const approvers = signed?.approvers.map(({ by }) => by).join(', ') || 'nobody else'
  const what = signed ? `proposal ${proposal}, approved by ${approvers}` : kindText
  const why = reason === undefined ? '' : `: ${reason}`
  const who = printable(`${user}  ${what}${why}`)
  return `${inForce ? '*' : ' '} ${String(number).padStart(4)}  ${revision}  ${time}  ${who}\n`
}

export function declareExport(policy: Command): void {
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
