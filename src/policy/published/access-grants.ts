/**
 * Roles for a time: what people have said about them, and what follows from it under the approvals.yaml in force. A grant
 * is a text of its own, which names the database, the caller and its end; whatever else is said names it by its digest.
 */
import { randomUUID } from 'node:crypto'
import { isObject } from '../../base/is-object.ts'
import type { RoleGrant, RoleGrants } from '../../decide/caller.ts'
import type { Approvals } from '../../decide/policy.ts'
import { namesText } from '../../present/quote.ts'
import { approversFor, callerOfPerson } from '../parse/parse-approvals.ts'
import { isTime, type PersonSigner, payloadOf, readSigned, type SignedBy, signAs } from './signed-by-person.ts'
import { digestOfText } from './signed-version.ts'
import { CLOCKS_APART_MS } from './version-chain.ts'

export interface GrantText {
  /** `break-glass`: one signature is enough. `request`: others approve it, so nobody needs to sign the request itself. */
  readonly kind: RoleGrant['kind']
  /** The id of the database. */
  readonly database: string
  readonly role: string
  /** The id of the caller. */
  readonly to: string
  readonly reason: string
  /** RFC 3339, UTC; of this and the other times. */
  readonly time: string
  readonly until: string
}

interface AboutGrant {
  /** The digest of the grant's text. */
  readonly of: string
  readonly says: 'approved' | 'revoked' | 'reviewed'
  readonly text?: string | undefined
  readonly time: string
}

export function signGrant(grant: GrantText, signer: PersonSigner): Promise<string> {
  return signAs(
    'grant',
    signer.isElsewhere ? { ...grant, id: digestOfText(JSON.stringify(grant)) } : unique(grant),
    signer,
  )
}

/** The text of a request that a caller made over HTTP. */
export function requestText(request: GrantText & { readonly kind: 'request' }): string {
  return JSON.stringify(unique(request))
}

/** Two of one millisecond are two: a repeated text counts once. */
function unique(grant: GrantText): GrantText & { readonly id: string } {
  return { ...grant, id: randomUUID() }
}

export function signAboutGrant(about: AboutGrant, signer: PersonSigner): Promise<string> {
  return signAs('about a grant', about, signer)
}

/** In the order of their making. */
interface SaidText {
  readonly number: number
  readonly signed: string
}

export interface AccessGrant extends GrantText {
  /** Of its statement. */
  readonly number: number
  readonly digest: string
  /** Who signed it; undefined for a request over HTTP, and where nobody of approvals.yaml did. */
  readonly by: string | undefined
  readonly state: 'waiting' | 'in force' | 'ended' | 'revoked' | 'refused'
  /** Why it is refused: the end of a sentence that begins with `it`. */
  readonly why: string | undefined
  readonly approvals: readonly SignedBy<AboutGrant>[]
  /** How many people must still approve, and who may. */
  readonly missing: number
  readonly open: readonly string[]
  readonly revoked: SignedBy<AboutGrant> | undefined
  /** Of a break-glass: what somebody else found, and until when somebody must. */
  readonly review: SignedBy<AboutGrant> | undefined
  readonly reviewUntil: string | undefined
}

interface GrantWorld {
  /** Of the version in force; without the file, nobody can grant anything. */
  readonly approvals: Approvals | undefined
  /** The id of the database. */
  readonly database: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** By number. Texts that nobody could have meant, and repeated ones, are left out. */
export function readGrants(statements: readonly SaidText[], world: GrantWorld): readonly AccessGrant[] {
  const about = Map.groupBy(aboutGrants(statements, world), ({ said }) => said.of)
  const seen = new Set<string>()
  return statements.flatMap((one) => {
    const { digest, grant: said } = claimedTextOf(one)
    if (!said || seen.has(digest)) return []
    seen.add(digest)
    return [judged({ number: one.number, digest, said, by: signerOf(one, world) }, about.get(digest) ?? [], world)]
  })
}

interface ClaimedText {
  readonly digest: string
  readonly grant: GrantText | undefined
  readonly about: AboutGrant | undefined
}

/** An instance looks at the same statements again and again. */
const claims = new WeakMap<SaidText, ClaimedText>()

function claimedTextOf(one: SaidText): ClaimedText {
  const { signed } = one
  const known = claims.get(one)
  if (known) return known
  const grant = claimedGrant(signed)
  const claim = { digest: digestOfText(signed), grant, about: grant ? undefined : claimedAbout(signed) }
  claims.set(one, claim)
  return claim
}

type Verified = SignedBy<unknown> | undefined
const verified = new WeakMap<SaidText, { readonly approvals: Approvals; readonly found: Verified }>()

function verifiedOnce(kind: 'grant' | 'about a grant', one: SaidText, approvals: Approvals): Verified {
  const known = verified.get(one)
  if (known?.approvals === approvals) return known.found
  const found = readSigned(kind, one.signed, approvals)
  verified.set(one, { approvals, found })
  return found
}

/**
 * Without the grants that ended before a time, and without what was said about others: they are over for good. Each text
 * once, with its last number.
 */
export function withoutPast<T extends SaidText>(statements: readonly T[], time: number): readonly T[] {
  const each = [...new Map(statements.map((one) => [one.signed, one])).values()]
  const lasts = ({ grant }: ClaimedText) => grant !== undefined && Date.parse(grant.until) > time
  const kept = new Set(each.map(claimedTextOf).flatMap((claim) => (lasts(claim) ? [claim.digest] : [])))
  const isKept = (one: T) => kept.has(claimedTextOf(one).digest) || kept.has(claimedTextOf(one).about?.of ?? '')
  return each.filter(isKept)
}

/** Those in force. */
export function grantsInForce(grants: readonly AccessGrant[]): RoleGrants {
  const inForce = grants.filter(({ state }) => state === 'in force')
  const byCaller = Map.groupBy(inForce, ({ to }) => to)
  return new Map([...byCaller].map(([id, found]) => [id, found.map(roleGrantOf)]))
}

function roleGrantOf({ number, kind, role, until, by, approvals }: AccessGrant): RoleGrant {
  const signedBy = kind === 'break-glass' ? [by ?? ''] : [...new Set(approvals.map((one) => one.by))]
  return { number, kind, role, until: Date.parse(until), signedBy }
}

function aboutGrants(statements: readonly SaidText[], { approvals }: GrantWorld) {
  if (!approvals) return []
  const each = new Map(statements.map((one) => [one.signed, one])).values()
  return [...each].flatMap((one): readonly SignedBy<AboutGrant>[] => {
    const read = claimedTextOf(one).about && verifiedOnce('about a grant', one, approvals)
    return read ? [{ ...read, said: read.said as AboutGrant }] : []
  })
}

/** Characters. Nobody writes a longer text; somebody else's could fill the memory of each instance. */
export const LONGEST_GRANT_TEXT = 10_000

function claimedAbout(text: string): AboutGrant | undefined {
  const claimed = text.length > LONGEST_GRANT_TEXT ? undefined : payloadOf(text)
  return isAboutGrant(claimed) ? claimed : undefined
}

/** What the text claims, whoever wrote it. */
export function claimedGrant(text: string): GrantText | undefined {
  if (text.length > LONGEST_GRANT_TEXT) return undefined
  if (!text.startsWith('{')) {
    const claimed = payloadOf(text)
    return isGrant(claimed) ? claimed : undefined
  }
  try {
    const claimed: unknown = JSON.parse(text)
    return isGrant(claimed) && claimed.kind === 'request' ? claimed : undefined
  } catch {
    return undefined
  }
}

/** `nobody`: it is signed, and by none of these people. */
type Signer = { readonly by: string } | 'unsigned' | 'nobody'

function signerOf(one: SaidText, { approvals }: GrantWorld): Signer {
  if (one.signed.startsWith('{')) return 'unsigned'
  return (approvals && verifiedOnce('grant', one, approvals)) ?? 'nobody'
}

interface ClaimedGrant {
  readonly number: number
  readonly digest: string
  readonly said: GrantText
  readonly by: Signer
}

function judged(
  { number, digest, said, by: signer }: ClaimedGrant,
  about: readonly SignedBy<AboutGrant>[],
  world: GrantWorld,
): AccessGrant {
  const by = typeof signer === 'string' ? undefined : signer.by
  const isOther = ({ by: name }: { readonly by: string }) => name !== by && !isCaller(name, said.to, world)
  const named = (says: AboutGrant['says']) => about.filter((one) => one.said.says === says)
  const approvals = eachOnce(named('approved').filter(isOther))
  const [revoked] = named('revoked')
  const [review] = named('reviewed').filter(isOther)
  const need = world.approvals?.requests.get(said.role)
  const able = need && world.approvals ? approversFor(need, world.approvals.people) : []
  const approved = approvals.filter((one) => able.includes(one.by))
  const missing = said.kind === 'request' && need ? Math.max(0, need.people - approved.length) : 0
  const open = able.filter((name) => isOther({ by: name }) && !approved.some((one) => one.by === name))
  const why = refusalOf(said, signer, world)
  const reviewMs = world.approvals?.breakGlass?.reviewMs ?? 0
  const reviewUntil = new Date(Date.parse(said.time) + reviewMs).toISOString()
  return {
    ...said,
    number,
    digest,
    by,
    state: stateOf({ isRevoked: revoked !== undefined, isRefused: why !== undefined, missing }, said, world),
    why,
    approvals: approved,
    missing,
    open: missing > 0 ? open : [],
    revoked,
    review,
    reviewUntil: said.kind === 'break-glass' ? reviewUntil : undefined,
  }
}

function isCaller(name: string, id: string, { approvals }: GrantWorld): boolean {
  return approvals !== undefined && callerOfPerson(approvals.people, name) === id
}

function stateOf(
  {
    isRevoked,
    isRefused,
    missing,
  }: { readonly isRevoked: boolean; readonly isRefused: boolean; readonly missing: number },
  { until }: GrantText,
  { now }: GrantWorld,
): AccessGrant['state'] {
  if (isRevoked) return 'revoked'
  if (Date.parse(until) <= now) return 'ended'
  if (isRefused) return 'refused'
  return missing > 0 ? 'waiting' : 'in force'
}

/** Undefined if approvals.yaml allows it. */
function refusalOf(said: GrantText, signer: Signer, { approvals, database, now }: GrantWorld): string | undefined {
  const { kind, role } = said
  if (!approvals) return 'needs an approvals.yaml in the policy in force'
  if (said.database !== database) return `was made for another database than ${database}`
  if (signer === 'nobody') return 'was signed by nobody of approvals.yaml, or was changed afterwards'
  const rule = kind === 'break-glass' ? approvals.breakGlass : approvals.requests.get(role)
  if (!rule) return kind === 'break-glass' ? 'needs `break-glass` in approvals.yaml' : notRequestable(approvals, role)
  const [time, until] = [Date.parse(said.time), Date.parse(said.until)]
  if (time > now + CLOCKS_APART_MS) return 'was made in the future: compare the clocks'
  if (until - time > rule.forMs) return `lasts longer than approvals.yaml allows for \`${role}\``
  const { breakGlass } = approvals
  if (kind === 'request' || !breakGlass) return undefined
  if (!breakGlass.roles.includes(role)) return `may give ${namesText(breakGlass.roles, ' or ')}, and not \`${role}\``
  const groups = (typeof signer === 'object' && approvals.people.get(signer.by)?.groups) || []
  if (breakGlass.from.some((name) => groups.includes(name))) return undefined
  return `was made by nobody of ${namesText(breakGlass.from, ' or ')}`
}

function notRequestable({ requests }: Approvals, role: string): string {
  const roles = [...requests.keys()]
  const other = roles.length === 0 ? 'nothing' : namesText(roles, ' or ')
  return `asks for \`${role}\`, and \`requests\` in approvals.yaml allows ${other}`
}

function eachOnce(all: readonly SignedBy<AboutGrant>[]): readonly SignedBy<AboutGrant>[] {
  return all.filter(({ by }, i) => all.findIndex((one) => one.by === by) === i)
}

function isGrant(value: unknown): value is GrantText {
  if (!isObject(value)) return false
  const { kind, database, role, to, reason, time, until } = value
  const areTexts = [database, role, to, reason].every((one) => typeof one === 'string')
  return (kind === 'break-glass' || kind === 'request') && areTexts && isTime(time) && isTime(until)
}

const SAYS = ['approved', 'revoked', 'reviewed']

function isAboutGrant(value: unknown): value is AboutGrant {
  if (!isObject(value) || !isTime(value.time) || typeof value.of !== 'string') return false
  return SAYS.some((one) => one === value.says) && (value.text === undefined || typeof value.text === 'string')
}
