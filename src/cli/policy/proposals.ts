/** sallyport policy propose, proposals, review, approve, reject, withdraw, publish: changes that need other people. */
import { type Command, Option } from 'commander'
import { commandProcess, setExitCode } from '../../base/command-process.ts'
import { ConfigError } from '../../config/values.ts'
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import { printResult } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import type { ProposalBase, ProposalStatus } from '../../tools/approvals/proposals.ts'
import type { ProposalParts } from '../../tools/approvals/propose-folder.ts'
import type { SignedVersions } from '../../tools/release/published-versions.ts'
import {
  futureMoment,
  lifetime,
  MATRIX_PLACES,
  SCHEMAS,
  SINCE,
  settingsWith,
  TEXT_OR_JSON,
  wholeNumber,
  withHelp,
} from '../options.ts'
import { withProgress } from '../progress.ts'
import { inSignedVersions } from './policy-place.ts'

/** Who proposes or approves. */
export const KEY = [
  '--key <key>',
  'your private Ed25519 key: a file, or ssh-agent:NAME with the comment of a key in the SSH agent (ssh-add -l); for a key that is elsewhere, to-sign:THUMBPRINT prints what it must sign, and signed:TEXT takes that with the signature',
] as const

const NUMBER = wholeNumber(1, 999_999_999)
const EXPIRES = new Option('--expires <duration>', 'how long it may be approved and published: 7d, 12h')
  .argParser(lifetime)
  .default(7 * 24 * 60 * 60 * 1000, '7d')

interface ProposalWork {
  readonly signed: SignedVersions
  readonly base: ProposalBase
  readonly resources: Resources
  readonly schemas: string
  /** The decision log of this machine's server; undefined on standard output. */
  readonly log: string | undefined
}

/** In the database, whatever POLICIES is. Throws ConfigError, FileError and ToolError. */
export async function inProposals<T>(flags: object, work: (parts: ProposalWork) => Promise<T>): Promise<T> {
  const usual = await settingsWith(flags)
  const { loadResources } = await import('../../resources/load/load-resources.ts')
  const { readBase } = await import('../../tools/approvals/proposals.ts')
  const resources = await loadResources(usual.schemas)
  const parts = { resources, schemas: usual.schemas, log: usual.decisionLog.file }
  return inSignedVersions(usual, async (signed) => work({ ...parts, signed, base: await readBase(signed, resources) }))
}

/** As the person of a key. Throws KeyError, and as the work does. */
export async function inProposalsAs<T>(
  key: string,
  flags: object,
  work: (parts: ProposalParts) => Promise<T>,
): Promise<T> {
  const { openPersonSigner } = await import('../../identity/keys/person-signer.ts')
  const signer = await openPersonSigner(key, commandProcess().env)
  return inProposals(flags, (parts) => work({ ...parts, signer }))
}

export function declareProposals(policy: Command): void {
  declarePropose(policy)
  declareList(policy)
  declareReview(policy)
  declareSaying(policy)
  declarePublish(policy)
}

function declarePropose(policy: Command): void {
  withHelp(policy.command('propose'), {
    about: 'propose a change of the policy in the database, which other people approve (approvals.yaml)',
    note: `A proposal changes nothing by itself. It holds the files of DIR, with the present blocks, and can become the next
version after the one that it changes, and no other.
Exit code: 0, 1 when the files have errors, or 2 when it could not run.`,
    examples: ['policy propose policies-new --title "support reads orders" --key ~/.ssh/id_ed25519'],
  })
    .argument('<dir>', 'policy files')
    .requiredOption('--title <text>', 'what the change is for, in a sentence')
    .option('--ticket <url>', 'where it was asked for')
    .option(
      '--not-before <time>',
      'instances put it in force then, if it has its approvals: 2027-01-31T18:00:00Z, or a duration from now (2h)',
      futureMoment,
    )
    .addOption(EXPIRES)
    .requiredOption(...KEY)
    .addOption(SCHEMAS)
    .addOption(MATRIX_PLACES)
    .addOption(TEXT_OR_JSON)
    .action(async (directory, { title, ticket, notBefore, expires, matrices, key, format, ...flags }) => {
      if (title.trim() === '') throw new ConfigError('--title is empty: say in a sentence what the change is for')
      for (const [flag, text] of Object.entries({ '--title': title, '--ticket': ticket })) refuseNoLine(flag, text)
      const { proposeFolder } = await import('../../tools/approvals/propose-folder.ts')
      const { describePlan } = await import('../../tools/release/carry-out.ts')
      const { needSentence } = await import('../../analysis/approvals/needs.ts')
      await inProposalsAs(key, flags, async (parts) => {
        const about = { title, ticket, notBefore, lifetimeMs: expires, matrices }
        const { proposal, plan, needs, evidence } = await proposeFolder(directory, about, parts)
        const { number } = parts.base
        const described = describePlan({ ...plan, target: { name: `version ${number}`, isEmpty: false } })
        const sentences = needs.map(needSentence)
        const outcome = proposal === undefined ? 'Nothing was proposed.\n' : madeText(proposal, number, sentences)
        const { findings } = plan.check
        const json = { proposal: proposal ?? null, base: number, needs: sentences, findings, ...evidence?.json }
        printResult(format, json, `${described}${evidence ? `${evidence.text}\n` : ''}${outcome}`)
        if (proposal === undefined) setExitCode(1)
      })
    })
}

/** In characters. */
const LONGEST_LINE = 200

/** People read these before they approve, so nothing may stand far to the right, or unseen. */
function refuseNoLine(flag: string, text = ''): void {
  if (text.length <= LONGEST_LINE && printable(text) === text) return
  throw new ConfigError(
    `${flag} must be one line of at most ${LONGEST_LINE} characters, all of them visible: shorten it`,
  )
}

function madeText(proposal: number, base: number, needs: readonly string[]): string {
  return `Proposal ${proposal} changes version ${base}.\n${proposalNeeds(needs)}`
}

/** `needs`: a sentence each. */
export function proposalNeeds(needs: readonly string[]): string {
  const lines = needs.map((sentence) => `  ${printable(sentence)}\n`).join('')
  return lines === '' ? 'Nobody else must approve it.\n' : `It needs the approval of\n${lines}`
}

function declareList(policy: Command): void {
  withHelp(policy.command('proposals'), {
    about: 'list the proposed changes of the policy in the database, latest first',
    examples: ['policy proposals', 'policy proposals --format json'],
  })
    .addOption(SCHEMAS)
    .addOption(TEXT_OR_JSON)
    .action(async ({ format, ...flags }) => {
      await inProposals(flags, async ({ signed, base }) => {
        const { readProposals } = await import('../../tools/approvals/proposals.ts')
        const all = (await readProposals(signed.versions, base)).toReversed()
        const text = all.map(lineOf).join('') || 'There are no proposals.\n'
        printResult(format, { proposals: all.map(proposalJson) }, text)
      })
    })
}

function lineOf({ number, state, why, proposal }: ProposalStatus): string {
  const about = proposal ? `${proposal.said.time}  ${proposal.by}  ${shortened(proposal.said.title)}` : (why ?? '')
  return `${String(number).padStart(4)}  ${state.padEnd(9)}  ${printable(about)}\n`
}

function proposalJson({ number, state, why, proposal, approvals }: ProposalStatus) {
  const { by, said } = proposal ?? {}
  return {
    proposal: number,
    state,
    why: why ?? null,
    title: said?.title ?? null,
    ticket: said?.ticket ?? null,
    by: by ?? null,
    base: said?.base.number ?? null,
    revision: said?.revision ?? null,
    time: said?.time ?? null,
    notBefore: said?.notBefore ?? null,
    expires: said?.expires ?? null,
    said: approvals.map((one) => {
      const { says, reason, time } = one.said
      return { by: one.by, key: one.kid, says, reason: reason ?? null, time }
    }),
  }
}

/** What somebody wrote, for one line. */
function shortened(text: string): string {
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text
}

function declareReview(policy: Command): void {
  withHelp(policy.command('review'), {
    about: 'show what a proposal means: its findings, the decisions that it changes, and whose approval it needs',
    note: `It also tells whether the guarantees hold, which expectations of the matrices it doesn't meet, and which requests
of the last week, or since --since, it would answer otherwise than the version in force. It says what it could not run, and why.
Exit code: 0, 1 when its files have errors, or 2 when it could not run.`,
    examples: ['policy review 3', 'policy review 3 --log decisions.log --since 30d', 'policy review 3 --format json'],
  })
    .argument('<number>', 'a number of `policy proposals`', NUMBER)
    .addOption(SCHEMAS)
    .addOption(MATRIX_PLACES)
    .addOption(
      new Option(
        '--log <file...>',
        'decision log files to replay, oldest first (DECISION_LOG_FILE and its older files)',
      ),
    )
    .addOption(SINCE)
    .addOption(TEXT_OR_JSON)
    .action(async (number, { format, matrices, log: files = [], since, ...flags }) => {
      await inProposals(flags, async (parts) => {
        const { signed, base, log: usual } = parts
        const { reviewProposal } = await import('../../tools/approvals/review.ts')
        const { findProposal } = await import('../../tools/approvals/proposals.ts')
        const status = await findProposal(signed.versions, base, number)
        const { text, json, isFaulty } = await withProgress(
          'replaying {bar} {percentage}% {eta_formatted} left',
          (bar) => {
            const onStart = (size: number) => bar.start(size, 0)
            const onProgress = (characters: number) => bar.increment(characters)
            const replay = { files, usual, since, onStart, onProgress }
            return reviewProposal(parts, status, { matrices, replay })
          },
        )
        printResult(format, { ...proposalJson(status), ...json }, headOf(status) + text)
        if (isFaulty) setExitCode(1)
      })
    })
}

function headOf({ number, state, why, proposal }: ProposalStatus): string {
  const { by, said } = proposal ?? {}
  const begin =
    said?.notBefore === undefined ? '' : ` It ${state === 'open' ? 'is' : 'was'} to be in force at ${said.notBefore}.`
  const stand = state === 'open' ? `It may be approved until ${said?.expires}.` : `It ${why ?? 'is published'}.`
  const title = `Proposal ${number} by \`${by}\`, ${said?.time}: ${shortened(said?.title ?? '')}`
  const about = [title, ...(said?.ticket === undefined ? [] : [shortened(said.ticket)]), `${stand}${begin}`]
  return about.map((line) => `${printable(line)}\n`).join('')
}

const SAYING = [
  { name: 'approve', says: 'approved', about: 'approve a proposal, so that it may become the next version', more: '' },
  {
    name: 'reject',
    says: 'rejected',
    about: 'reject a proposal: it can no longer be published (--reason is required)',
    more: ' --reason "too much"',
  },
  { name: 'withdraw', says: 'withdrawn', about: 'withdraw a proposal of your own', more: '' },
] as const

function declareSaying(policy: Command): void {
  for (const { name, says, about, more } of SAYING) {
    withHelp(policy.command(name), { about, examples: [`policy ${name} 3 --key ~/.ssh/id_ed25519${more}`] })
      .argument('<number>', 'a number of `policy proposals`', NUMBER)
      .option('--reason <text>', 'the reason, kept with the proposal')
      .requiredOption(...KEY)
      .addOption(SCHEMAS)
      .addOption(TEXT_OR_JSON)
      .action(async (number, { reason: why, key, format, ...flags }) => {
        if (says === 'rejected' && !why?.trim()) throw new ConfigError('give --reason: why the proposal is rejected')
        const { findProposal, needsOfProposal, respond } = await import('../../tools/approvals/proposals.ts')
        const { needSentence } = await import('../../analysis/approvals/needs.ts')
        await inProposalsAs(key, flags, async ({ signed: { versions }, base, resources, signer }) => {
          const found = await findProposal(versions, base, number)
          // Nobody approves what can't be read.
          if (says === 'approved') await needsOfProposal(versions, base, found, resources)
          const by = await respond(versions, base, found, { says, reason: why }, signer)
          const status = await findProposal(versions, base, number)
          const done = `\`${by}\` has ${says} proposal ${number}.\n`
          if (says !== 'approved') return printResult(format, proposalJson(status), done)
          const { unmet } = await needsOfProposal(versions, base, status, resources)
          const missing = unmet.map((need) => ({
            sentence: needSentence(need),
            missing: need.missing,
            open: need.open,
          }))
          const lines = missing.map((need) => `  ${printable(need.sentence)}: ${need.missing} missing\n`).join('')
          const next = lines === '' ? 'It has all that it needs.\n' : `It still needs the approval of\n${lines}`
          printResult(format, { ...proposalJson(status), missing }, `${done}${next}`)
        })
      })
  }
}

function declarePublish(policy: Command): void {
  withHelp(policy.command('publish'), {
    about: 'make a proposal with enough approvals the next version in the database',
    note: 'No key is needed: each instance verifies the approvals for itself.',
    examples: ['policy publish 3'],
  })
    .argument('<number>', 'a number of `policy proposals`', NUMBER)
    .addOption(SCHEMAS)
    .addOption(TEXT_OR_JSON)
    .action(async (number, { format, ...flags }) => {
      await inProposals(flags, async ({ signed, base, resources }) => {
        const { findProposal, publishProposal } = await import('../../tools/approvals/proposals.ts')
        const status = await findProposal(signed.versions, base, number)
        const version = await publishProposal(signed, base, status, resources)
        const text = `Proposal ${number} is version ${version} in ${DATABASE_POLICIES}.\n`
        printResult(format, { proposal: number, version }, text)
      })
    })
}
