/** sallyport policy block, unblock: users that are refused before any rule. */
import { Argument, type Command } from 'commander'
import { timeText } from '../../base/time.ts'
import { printNote, printResult } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import type { ProposedBlock } from '../../tools/approvals/propose-folder.ts'
import { openDirectory } from '../identity/directory.ts'
import { futureMoment, POLICIES, settingsWith, TEXT_OR_JSON, withHelp } from '../options.ts'
import { inReleaseTarget } from './policy-place.ts'
import { inProposalsAs, proposalNeeds } from './proposals.ts'

export function declareBlocks(policy: Command): void {
  declareBlock(policy)
  declareUnblock(policy)
}

const BLOCK_KEY = [
  '--key <key>',
  'where approvals.yaml asks for approvals: your private Ed25519 key, as for `policy propose`',
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
  const { proposal, made = false, version, needs = [] } = proposed ?? {}
  const changed = version !== undefined
  const [who, verb] = [printable(about.user), about.blocked ? 'blocks' : 'unblocks']
  const known = made ? '' : `Proposal ${proposal} ${verb} ${who} already, so no other one was made.\n`
  const waits = `${known}Proposal ${proposal} waits for approvals: ${who} is as before until it is published.\n`
  const json = { ...about, changed, proposal: proposal ?? null, made, version: version ?? null, needs }
  printResult(format, json, changed ? done : proposed ? `${waits}${proposalNeeds(needs)}` : was)
}

function readEnd(text: string): string {
  return timeText(futureMoment(text))
}
