/** sallyport access grants, request, approve, revoke; policy break-glass and review-glass: roles for a time. */

import type { Command } from 'commander'
import { commandProcess } from '../base/command-process.ts'
import type { Config } from '../config/config.ts'
import type { AccessGrant } from '../policy/published/access-grants.ts'
import { printResult } from '../present/print.ts'
import { namesText, printable } from '../present/quote.ts'
import { count } from '../present/text.ts'
import type { AskedGrant, GrantParts } from '../tools/approvals/grants.ts'
import { lifetime, SCHEMAS, settingsWith, TEXT_OR_JSON, wholeNumber, withHelp } from './options.ts'
import { inSignedVersions, inVersions } from './policy/policy-place.ts'
import { KEY } from './policy/proposals.ts'

const NUMBER = wholeNumber(1, 999_999_999)

async function inGrants<T>(settings: Config, work: (parts: GrantParts) => Promise<T>): Promise<T> {
  const { loadResources } = await import('../resources/load/load-resources.ts')
  const { openGrants } = await import('../tools/approvals/grants.ts')
  const resources = await loadResources(settings.schemas)
  return inSignedVersions(settings, async (signed) => work(await openGrants(signed, resources)))
}

/** Asked only where somebody has made one: to judge it takes the keys of the policy, and its schemas. */
export async function unreviewedIn(settings: Config): Promise<readonly string[]> {
  const { claimsBreakGlass, unreviewedGlass } = await import('../tools/approvals/grants.ts')
  if (!(await inVersions(settings, claimsBreakGlass))) return []
  return inGrants(settings, unreviewedGlass)
}

export function declareGrants(access: Command): void {
  declareList(access)
  declareMaking(access, {
    name: 'request',
    kind: 'request',
    about: 'ask for a role for a time; it counts once the people of approvals.yaml have approved it',
    note: 'The time begins with the request.',
    example: 'access request support --for 4h --reason "ticket 7" --key ~/.ssh/id_ed25519',
  })
  declareSaying(access, {
    name: 'approve',
    says: 'approved',
    about: 'approve a request for a role',
    flag: ['--reason <text>', 'the reason, kept with the request'],
    example: 'access approve 3 --key ~/.ssh/id_ed25519',
  })
  declareSaying(access, {
    name: 'revoke',
    says: 'revoked',
    about: 'take back a role for a time, or refuse a request',
    flag: ['--reason <text>', 'the reason, kept with the request'],
    example: 'access revoke 3 --reason "done" --key ~/.ssh/id_ed25519',
  })
}

export function declareBreakGlass(policy: Command): void {
  declareMaking(policy, {
    name: 'break-glass',
    kind: 'break-glass',
    about: 'in an emergency, give somebody a role at once and alone (`break-glass` in approvals.yaml)',
    note: `The role ends by itself. Each decision of this caller is marked in the decision log, and \`policy status\` and \`doctor\`
exit with 1 until somebody else has reviewed it (\`policy review-glass\`).`,
    example:
      'policy break-glass --role admin --to user:alice --for 1h --reason "payments are down" --key ssh-agent:ada',
  })
  declareSaying(policy, {
    name: 'review-glass',
    says: 'reviewed',
    about: 'say what you found about a break-glass of somebody else',
    flag: ['--finding <text>', 'what you found, in a sentence'],
    example: 'policy review-glass 3 --finding "one order was corrected" --key ~/.ssh/id_ed25519',
  })
}

function declareList(access: Command): void {
  withHelp(access.command('grants'), {
    about: 'list the roles that callers have, had or asked for, for a time, latest first',
    examples: ['access grants', 'access grants --format json'],
  })
    .addOption(SCHEMAS)
    .addOption(TEXT_OR_JSON)
    .action(async ({ format, ...flags }) => {
      const { allGrants } = await import('../tools/approvals/grants.ts')
      const all = (await inGrants(await settingsWith(flags), allGrants)).toReversed()
      const text = all.map((one) => `${lineOf(one)}\n`).join('') || 'There are no grants.\n'
      printResult(format, { grants: all.map(grantJson) }, text)
    })
}

interface MakingCommand {
  readonly name: string
  readonly kind: AskedGrant['kind']
  readonly about: string
  readonly note: string
  readonly example: string
}

function declareMaking(group: Command, { name, kind, about, note, example }: MakingCommand): void {
  const command = withHelp(group.command(name), { about, note, examples: [example] })
  const isGlass = kind === 'break-glass'
  if (isGlass) command.requiredOption('--role <role>', 'a role that approvals.yaml allows')
  else command.argument('<role>', 'a role that approvals.yaml allows')
  command
    .option('--to <caller>', 'who gets the role, as user:<id>; yourself, if your name in approvals.yaml is your id')
    .requiredOption('--for <duration>', 'how long: 30m, 4h', lifetime)
    .requiredOption('--reason <text>', 'why, in a sentence')
    .requiredOption(...KEY)
    .addOption(SCHEMAS)
    .addOption(TEXT_OR_JSON)
    .action(async (...given: readonly unknown[]) => {
      const flags = given.at(isGlass ? 0 : 1) as MakingFlags
      const { role = String(given[0]), to, for: forMs, reason, key, format, ...settings } = flags
      const { openPersonSigner } = await import('../identity/keys/person-signer.ts')
      const { makeGrant } = await import('../tools/approvals/grants.ts')
      const signer = await openPersonSigner(key, commandProcess().env)
      const asked = { kind, role, to, forMs, reason }
      const made = await inGrants(await settingsWith(settings), (parts) => makeGrant(parts, asked, signer))
      printResult(format, grantJson(made), `${lineOf(made)}\n${nextOf(made)}`)
    })
}

interface MakingFlags {
  readonly role?: string
  readonly to?: string
  readonly for: number
  readonly reason: string
  readonly key: string
  readonly format: 'text' | 'json'
}

interface SayingCommand {
  readonly name: string
  readonly says: 'approved' | 'revoked' | 'reviewed'
  readonly about: string
  readonly flag: readonly [string, string]
  readonly example: string
}

function declareSaying(group: Command, { name, says, about, flag, example }: SayingCommand): void {
  const command = withHelp(group.command(name), { about, examples: [example] }).argument(
    '<number>',
    'a number of `access grants`',
    NUMBER,
  )
  if (says === 'reviewed') command.requiredOption(...flag)
  else command.option(...flag)
  command
    .requiredOption(...KEY)
    .addOption(SCHEMAS)
    .addOption(TEXT_OR_JSON)
    .action(async (number: number, { reason, finding = reason, key, format, ...settings }: SayingFlags) => {
      const { openPersonSigner } = await import('../identity/keys/person-signer.ts')
      const { sayAboutGrant } = await import('../tools/approvals/grants.ts')
      const signer = await openPersonSigner(key, commandProcess().env)
      const about = { says, text: finding }
      const grant = await inGrants(await settingsWith(settings), (parts) => sayAboutGrant(parts, number, about, signer))
      printResult(format, grantJson(grant), `${lineOf(grant)}\n${nextOf(grant)}`)
    })
}

interface SayingFlags {
  readonly reason?: string
  readonly finding?: string
  readonly key: string
  readonly format: 'text' | 'json'
}

function lineOf({ number, kind, state, role, to, by, until, reason, approvals, review }: AccessGrant): string {
  const approved = approvals.length === 0 ? '' : `, approved by ${approvals.map((one) => one.by).join(', ')}`
  const found = review ? `, reviewed by ${review.by}: ${review.said.text ?? ''}` : ''
  const author = by === undefined ? '' : ` by ${by}`
  return printable(
    `${String(number).padStart(4)}  ${state.padEnd(8)}  ${role} for user:${to} until ${until} (${kind}${author}${approved}${found}): ${reason}`,
  )
}

function nextOf({ number, kind, state, why, missing, open, review, reviewUntil }: AccessGrant): string {
  if (state === 'refused') return printable(`It ${why}.\n`)
  if (state === 'waiting') {
    const may = open.length === 0 ? 'nobody is left who may' : `${namesText(open, ' or ')} may`
    return `It waits for ${count(missing, 'approval')}, ${may}: sallyport access approve ${number}\n`
  }
  if (kind !== 'break-glass' || review) return ''
  return `Somebody else must review it until ${reviewUntil}: sallyport policy review-glass ${number}\n`
}

function grantJson(grant: AccessGrant) {
  const { number, kind, state, why, role, to, by, reason, time, until, missing, open } = grant
  const { approvals, revoked, review, reviewUntil } = grant
  return {
    grant: number,
    kind,
    state,
    why: why ?? null,
    role,
    to: `user:${to}`,
    by: by ?? null,
    reason,
    time,
    until,
    approvals: approvals.map(saidJson),
    missing,
    open,
    revoked: revoked ? saidJson(revoked) : null,
    review: review ? saidJson(review) : null,
    reviewUntil: reviewUntil ?? null,
  }
}

function saidJson({ by, kid, said }: AccessGrant['approvals'][number]) {
  return { by, key: kid, text: said.text ?? null, time: said.time }
}
