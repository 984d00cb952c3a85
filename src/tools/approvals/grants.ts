/** Roles for a time: what people do with them, and how they stand. */
import { FileError } from '../../base/diagnostic.ts'
import { durationText } from '../../base/time.ts'
import type { RoleGrants } from '../../decide/caller.ts'
import type { Approvals } from '../../decide/policy.ts'
import { approvalsOf, callerOfPerson } from '../../policy/parse/parse-approvals.ts'
import {
  type AccessGrant,
  claimedGrant,
  type GrantText,
  grantsInForce,
  LONGEST_GRANT_TEXT,
  readGrants,
  signAboutGrant,
  signGrant,
} from '../../policy/published/access-grants.ts'
import type { PersonSigner } from '../../policy/published/signed-by-person.ts'
import { readingOf, readTexts, validVersion, type WholeVersion } from '../../policy/published/version-chain.ts'
import type { Resources } from '../../resources/resource.ts'
import type { GrantStatement, PolicyVersions } from '../../store/policy-versions.ts'
import { subjectIn } from '../asked/subject-in.ts'
import { ToolError } from '../load-policy.ts'
import { NOTHING_PUBLISHED, type SignedVersions, verifiedHistory } from '../release/published-versions.ts'
import { refuseStranger, refuseUnsigned, timeToSign } from './proposals.ts'

export interface GrantParts {
  readonly signed: SignedVersions
  /** The id of the database. */
  readonly database: string
  /** Of the version in force; undefined where it has no approvals.yaml. */
  readonly approvals: Approvals | undefined
}

/** Throws ToolError where nothing is published, and FileError where no version is valid. */
export async function openGrants(signed: SignedVersions, resources: Resources): Promise<GrantParts> {
  const { id: database } = await signed.versions.home()
  const { version, texts } = await lastValid(signed)
  return { signed, database, approvals: approvalsOf(readingOf(version, texts).files(), resources) }
}

/** As instances do: a version that isn't valid leaves the one before it in force, and a role must still be revoked. */
async function lastValid(signed: SignedVersions): Promise<WholeVersion> {
  const { versions } = signed
  const last = await versions.last()
  if (!last) throw new ToolError(NOTHING_PUBLISHED)
  try {
    return await validVersion(last, await versions.home(), undefined, signed)
  } catch (error) {
    const version = error instanceof FileError ? (await verifiedHistory(signed)).versions.at(-1) : undefined
    if (!version) throw error
    return { version, texts: await readTexts(version, versions) }
  }
}

/** By number. */
export async function allGrants({ signed, ...world }: GrantParts): Promise<readonly AccessGrant[]> {
  return readGrants(await allStatements(signed.versions), { ...world, now: await signed.versions.now() })
}

export async function roleGrantsAt({ signed, ...world }: GrantParts, now: number): Promise<RoleGrants> {
  return grantsInForce(readGrants(await allStatements(signed.versions), { ...world, now }))
}

async function allStatements(versions: PolicyVersions): Promise<readonly GrantStatement[]> {
  const all: GrantStatement[] = []
  for (;;) {
    const page = await versions.grantTextsAfter(all.at(-1)?.number ?? 0)
    if (page.length === 0) return all
    all.push(...page)
  }
}

export async function claimsBreakGlass(versions: PolicyVersions): Promise<boolean> {
  return (await allStatements(versions)).some(({ signed }) => claimedGrant(signed)?.kind === 'break-glass')
}

/** Somebody who writes to the database can make very many. */
const MOST_SENTENCES = 20

/** A sentence for each break-glass that nobody else has reviewed, at most so many. Without an approvals.yaml, nobody has to. */
export async function unreviewedGlass(parts: GrantParts): Promise<readonly string[]> {
  if (!parts.approvals) return []
  const now = await parts.signed.versions.now()
  const open = (await allGrants(parts)).flatMap(({ number, kind, by, role, to, review, reviewUntil = '' }) => {
    if (kind !== 'break-glass' || review) return []
    const who = by === undefined ? 'somebody' : `\`${by}\``
    const due = Date.parse(reviewUntil) < now ? `was due until ${reviewUntil}` : `is due until ${reviewUntil}`
    return [
      `break-glass ${number}: ${who} gave user:${to} the role \`${role}\`, and the review ${due}; somebody else runs ` +
        `\`sallyport policy review-glass ${number}\``,
    ]
  })
  const more = open.length - MOST_SENTENCES
  return more > 0 ? [...open.slice(0, MOST_SENTENCES), `break-glass: ${more} more without a review`] : open
}

// ---- What people do -------------------------------------------------------------------------------------------------

export interface AskedGrant {
  readonly kind: GrantText['kind']
  readonly role: string
  /** `user:<id>`; undefined for the person of the key. */
  readonly to: string | undefined
  readonly forMs: number
  readonly reason: string
}

const MOST_ATTEMPTS = 10
/** Characters. */
const LONGEST_TEXT = 1000

/** Throws ToolError for what approvals.yaml doesn't allow: then nothing is stored. */
export async function makeGrant(parts: GrantParts, asked: AskedGrant, signer: PersonSigner): Promise<AccessGrant> {
  const { signed, database, approvals } = parts
  if (!approvals) throw new ToolError('the version in force has no approvals.yaml: publish one with that file first')
  const person = refuseStranger(approvals, signer)
  const to = asked.to === undefined ? callerOfPerson(approvals.people, person) : subjectIn(asked.to)
  refuseText(asked.reason, '--reason')
  const { kind, role, reason } = asked
  const now = await timeToSign(signed.versions, signer)
  refuseTooLong(asked, approvals)
  const [time, until] = [now, now + asked.forMs].map((one) => new Date(one).toISOString()) as [string, string]
  const grant = await signGrant({ kind, database, role, to, reason, time, until }, signer)
  const text = refuseUnsigned('grant', grant, approvals)
  const [made] = readGrants([{ number: 1, signed: text }], { approvals, database, now })
  if (made?.state === 'refused') throw new ToolError(`${kind} ${made.why}: nothing was done`)
  return found(parts, await append(signed.versions, text))
}

/** Throws ToolError. */
export async function sayAboutGrant(
  parts: GrantParts,
  number: number,
  { says, text }: { readonly says: Word; readonly text: string | undefined },
  signer: PersonSigner,
): Promise<AccessGrant> {
  const { approvals, signed } = parts
  if (!approvals) throw new ToolError('the version in force has no approvals.yaml, so nobody can sign for it')
  const person = refuseStranger(approvals, signer)
  const grant = await found(parts, number)
  const fault = faultOf(grant, says, { name: person, id: callerOfPerson(approvals.people, person) })
  if (fault !== undefined) throw new ToolError(fault)
  if (text !== undefined) refuseText(text, says === 'reviewed' ? '--finding' : '--reason')
  const time = new Date(await timeToSign(signed.versions, signer)).toISOString()
  const said = await signAboutGrant({ of: grant.digest, says, ...(text && { text }), time }, signer)
  await append(signed.versions, refuseUnsigned('about a grant', said, approvals))
  return found(parts, number)
}

type Word = 'approved' | 'revoked' | 'reviewed'

interface Speaker {
  readonly name: string
  /** As a caller. */
  readonly id: string
}

/** Why the person can't say this about the grant: a sentence. */
function faultOf(grant: AccessGrant, says: Word, person: Speaker): string | undefined {
  if (says === 'reviewed') return faultOfReview(grant, person)
  const { number, kind, state, revoked } = grant
  if (state === 'ended') return `${kind} ${number} has ended: nothing was done`
  // A second person makes it last: a revocation counts while approvals.yaml has the key of whoever signed it.
  const isRepeated = says !== 'revoked' || revoked?.by === person.name
  if (state === 'revoked' && isRepeated) return `${kind} ${number} was revoked: nothing was done`
  return says === 'approved' ? faultOfApproval(grant, person) : undefined
}

function faultOfReview({ number, kind, by, to, review }: AccessGrant, { name, id }: Speaker): string | undefined {
  if (kind === 'request') return `${number} is a request, and not a break-glass: take a number from \`access grants\``
  if (review) return `break-glass ${number} was reviewed by \`${review.by}\`: nothing was done`
  const isConcerned = name === by || id === to
  return isConcerned ? `\`${name}\` made it or got the role: somebody else must review it` : undefined
}

function faultOfApproval(
  { number, kind, state, why, by, to, open }: AccessGrant,
  { name, id }: Speaker,
): string | undefined {
  if (kind === 'break-glass') return `break-glass ${number} needs no approval: use \`policy review-glass ${number}\``
  if (state === 'refused') return `request ${number} ${why}: nothing was done`
  if (name === by || id === to) return `\`${name}\` asked for it, and nobody approves a request of their own`
  if (state === 'in force' || open.includes(name)) return undefined
  return `\`${name}\` may not approve it, or has approved it already`
}

async function found(parts: GrantParts, number: number): Promise<AccessGrant> {
  const grant = (await allGrants(parts)).find((one) => one.number === number)
  if (grant) return grant
  throw new ToolError(`there is no grant ${number}: take a number from \`sallyport access grants\``)
}

/** Its number. */
async function append(versions: PolicyVersions, signed: string): Promise<number> {
  if (signed.length > LONGEST_GRANT_TEXT) throw new ToolError('the text is too long: shorten it')
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const number = (await versions.latestGrantText()) + 1
    if (await versions.addGrantText({ number, signed })) return number
  }
  throw new ToolError('other commands keep writing: run the command again')
}

function refuseText(text: string, flag: string): void {
  if (text.trim() === '') throw new ToolError(`${flag} is empty: say why in a sentence`)
  if (text.length > LONGEST_TEXT) throw new ToolError(`${flag} is longer than ${LONGEST_TEXT} characters: shorten it`)
}

function refuseTooLong({ kind, role, forMs }: AskedGrant, { breakGlass, requests }: Approvals): void {
  const most = kind === 'break-glass' ? breakGlass?.forMs : requests.get(role)?.forMs
  if (most === undefined || forMs <= most) return
  throw new ToolError(
    `approvals.yaml allows \`${role}\` for ${durationText(most)}: give --for ${durationText(most)} or less`,
  )
}
