/** Proposals in the database: how each stands, and what people do with them. */
import { type FoundNeed, NEEDS_VERSION, needsOf, type UnmetNeed, unmetNeeds } from '../../analysis/approvals/needs.ts'
import { FileError } from '../../base/diagnostic.ts'
import type { Approvals } from '../../decide/policy.ts'
import { POLICY_FILES } from '../../policy/policy-files.ts'
import {
  type Approval,
  claimedProposal,
  type PolicyProposal,
  readApproval,
  readProposal,
  signApproval,
  signProposal,
} from '../../policy/published/proposal.ts'
import { isPublished, publishApproved } from '../../policy/published/publish-approved.ts'
import { ownerOf, type PersonSigner, readSigned, type SignedBy } from '../../policy/published/signed-by-person.ts'
import { digestOfText, type VersionHome } from '../../policy/published/signed-version.ts'
import {
  readingOf,
  readTexts,
  type ValidVersion,
  validVersion,
  type WholeVersion,
} from '../../policy/published/version-chain.ts'
import { quote } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { LONGEST_SIGNED, type PolicyVersions, type StoredProposal } from '../../store/policy-versions.ts'
import { type LoadedPolicy, parseReading, ToolError } from '../load-policy.ts'
import { describedFiles, type PolicyContent } from '../release/content.ts'
import { faultOfLoss, NOTHING_PUBLISHED, type SignedVersions } from '../release/published-versions.ts'

/**
 * `open`: it may be approved, and published once it has what it needs. `void`: another version is in force than the one
 * that it changes. `unsigned`: nobody of the approvals.yaml in force has signed it, or it was changed.
 */
type ProposalState = 'open' | 'published' | 'rejected' | 'withdrawn' | 'expired' | 'void' | 'unsigned'

export interface ProposalStatus extends StoredProposal {
  readonly state: ProposalState
  /** The end of the sentence `proposal 3 …`, for one that can't be approved or shown. */
  readonly why: string | undefined
  /** Undefined if nobody of the approvals.yaml in force has signed it. */
  readonly proposal: SignedBy<PolicyProposal> | undefined
  readonly approvals: readonly SignedBy<Approval>[]
}

/** The last version, which proposals change. */
export interface ProposalBase extends ValidVersion {
  readonly home: VersionHome
  readonly policy: LoadedPolicy
  readonly approvals: Approvals
}

const AGAIN = 'run the command again'
const OUTRUN = `another version was published meanwhile, so nothing was done: ${AGAIN}`

/** Throws ToolError where nothing is published, or the last version has no approvals.yaml. */
export async function readBase(signed: SignedVersions, resources: Resources): Promise<ProposalBase> {
  const { versions, trusted } = signed
  const last = await versions.last()
  if (!last) throw new ToolError(NOTHING_PUBLISHED)
  if (trusted && last.number < trusted.number) {
    throw new ToolError(
      `version ${trusted.number}, which POLICY_KNOWN names, is not in the database: find out who writes to it`,
    )
  }
  const home = await versions.home()
  const { version, texts } = await validVersion(last, home, undefined, signed)
  const policy = parseReading(readingOf(version, texts), resources)
  const { approvals } = policy.policy
  if (!approvals) {
    throw new ToolError(
      'the version in force has no approvals.yaml, so a publishing key is enough: use `sallyport policy apply DIR ' +
        '--to database:`, or publish a version with that file first',
    )
  }
  return { ...last, version, home, policy, approvals }
}

/** People sign what a command has shown them, and read it before. */
const SIGNED_WITHIN_MS = 30 * 60 * 1000

/** The time that the signed text has. Throws ToolError where that is long ago, or ahead. */
export async function timeToSign(versions: Pick<PolicyVersions, 'now'>, { at }: PersonSigner): Promise<number> {
  const now = await versions.now()
  if (at === undefined) return now
  if (Math.abs(now - at) <= SIGNED_WITHIN_MS) return at
  throw new ToolError(
    `it was to be signed at ${new Date(at).toISOString()}, more than half an hour away: sign it again`,
  )
}

/** The text. Throws ToolError unless a person has signed it: a signature from elsewhere can be of anything. */
export function refuseUnsigned(kind: Parameters<typeof readSigned>[0], signed: string, approvals: Approvals): string {
  if (readSigned(kind, signed, approvals)) return signed
  throw new ToolError(
    "the signature is not by this key, so nothing was done: sign the text again, with the person's key",
  )
}

export interface NewProposal {
  readonly title: string
  readonly ticket?: string | undefined
  /** When it is signed (`timeToSign`). This and the other times: milliseconds since the epoch. */
  readonly time: number
  readonly notBefore?: number | undefined
  readonly expires: number
  readonly content: PolicyContent
  /** The text of blocked.txt. */
  readonly blocked: string
}

const MOST_ATTEMPTS = 10

/**
 * The proposal, as it is stored. `once`: runs when it is signed, and before it is stored; a key that is elsewhere signs
 * nothing the first time. Throws ToolError if the key is nobody's.
 */
export async function propose(
  versions: PolicyVersions,
  base: ProposalBase,
  { title, ticket, time, notBefore, expires, content, blocked }: NewProposal,
  signer: PersonSigner,
  once: () => Promise<void> = async () => {},
): Promise<StoredProposal> {
  const { described, texts } = describedFiles(content, blocked)
  const timeOf = (time: number) => new Date(time).toISOString()
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    if ((await versions.latest()) !== base.number) throw new ToolError(OUTRUN)
    const number = (await versions.latestProposal()) + 1
    const proposal: PolicyProposal = {
      proposal: number,
      database: base.home.id,
      base: { number: base.number, digest: digestOfText(base.signed) },
      title,
      ...(ticket === undefined ? {} : { ticket }),
      ...described,
      time: timeOf(time),
      ...(notBefore === undefined ? {} : { notBefore: timeOf(notBefore) }),
      expires: timeOf(expires),
      needs: NEEDS_VERSION,
    }
    const signed = refuseUnsigned('proposal', await signProposal(proposal, signer), base.approvals)
    if (signed.length > LONGEST_SIGNED / 4) throw new ToolError('the title is too long for a proposal: shorten it')
    if (attempt === 1) await once()
    if (await versions.propose({ number, signed, files: texts })) return { number, signed }
  }
  throw new ToolError(`other commands keep proposing changes: ${AGAIN}`)
}

async function allProposals(versions: PolicyVersions): Promise<readonly StoredProposal[]> {
  const all: StoredProposal[] = []
  for (;;) {
    const page = await versions.proposalsAfter(all.at(-1)?.number ?? 0)
    if (page.length === 0) return all
    all.push(...page)
  }
}

/** Who signs. Throws ToolError. */
export function refuseStranger(approvals: Approvals, { kid }: PersonSigner): string {
  const owner = ownerOf(approvals, kid)
  if (owner) return owner.by
  throw new ToolError(
    `nobody in the approvals.yaml in force has this key (${kid}): give the key of a person there, or have it added`,
  )
}

/** By number. */
export async function readProposals(
  versions: PolicyVersions,
  base: ProposalBase,
  wanted: (stored: StoredProposal) => boolean = () => true,
): Promise<readonly ProposalStatus[]> {
  const read: ProposalStatus[] = []
  for (const stored of (await allProposals(versions)).filter(wanted)) read.push(await statusOf(stored, versions, base))
  return read
}

const GONE = "is published, and its author's key is no longer in approvals.yaml: `sallyport policy history` names it"

async function statusOf(stored: StoredProposal, versions: PolicyVersions, base: ProposalBase): Promise<ProposalStatus> {
  const { approvals } = base
  const { number, signed } = stored
  const proposal = readProposal(signed, approvals)
  const nothing = { why: undefined, approvals: [] }
  if (await isPublished(versions, signed)) {
    return { ...stored, ...nothing, state: 'published', why: proposal ? undefined : GONE, proposal }
  }
  if (proposal?.said.proposal !== number) {
    const claimed = claimedProposal(signed)?.base
    const isOfAnother = claimed !== undefined && claimed.digest !== digestOfText(base.signed)
    const former = isOfAnother ? `changes version ${claimed.number}, which is not in force any more, and ` : ''
    const why = `${former}was signed by nobody of the approvals.yaml in force, or was changed after it was signed`
    return { ...stored, ...nothing, state: 'unsigned', why, proposal: undefined }
  }
  const read = (await versions.signaturesOf(number)).flatMap(
    (one) => readApproval(one, { proposal: signed, approvals }) ?? [],
  )
  return { ...stored, ...stateOf(proposal, read, base, await versions.now()), proposal, approvals: read }
}

function stateOf(
  { said }: SignedBy<PolicyProposal>,
  read: readonly SignedBy<Approval>[],
  base: ProposalBase,
  now: number,
): Pick<ProposalStatus, 'state' | 'why'> {
  for (const { by, said } of read) {
    if (said.says !== 'approved') return { state: said.says, why: `was ${said.says} by \`${by}\`` }
  }
  if (Date.parse(said.expires) < now) return { state: 'expired', why: `expired at ${said.expires}` }
  if (said.base.digest !== digestOfText(base.signed)) {
    const why =
      said.base.number === base.number
        ? `changes another version ${base.number} than the one in force`
        : `changes version ${said.base.number}, and version ${base.number} is in force now`
    return { state: 'void', why: `${why}, so its approvals don't count: propose it again` }
  }
  return { state: 'open', why: undefined }
}

/** Throws ToolError. */
export async function findProposal(
  versions: PolicyVersions,
  base: ProposalBase,
  number: number,
): Promise<ProposalStatus> {
  const [stored] = await versions.proposalsAfter(number - 1, 1)
  if (stored?.number !== number) {
    throw new ToolError(`there is no proposal ${number}: take a number from \`sallyport policy proposals\``)
  }
  return statusOf(stored, versions, base)
}

/** Its name may lead out of the folder that the files are written to. */
function oddFile(number: number, name: string): FileError {
  const message = `it has a file ${quote(name)}, which no policy has`
  const place = { file: `proposal ${number}`, line: 1, column: 1 }
  return new FileError([
    { ...place, code: 'version-unknown', severity: 'error', message, hint: 'reject it, and ask who proposed it' },
  ])
}

export interface NeedsOfProposal {
  readonly needs: readonly FoundNeed[]
  readonly unmet: readonly UnmetNeed[]
  readonly after: LoadedPolicy
}

/** The version that it would become, and its files. Throws FileError for changed files, ToolError for an unsigned one. */
export async function wholeProposal(
  versions: PolicyVersions,
  base: ProposalBase,
  { number, proposal, why }: ProposalStatus,
): Promise<WholeVersion> {
  if (!proposal) throw new ToolError(`proposal ${number} ${why}`)
  const { by: user, said } = proposal
  const odd = Object.keys(said.files).find((name) => !POLICY_FILES.includes(name))
  if (odd !== undefined) throw oddFile(number, odd)
  const version = { ...said, number: base.number + 1, user, kind: 'approved' as const }
  return { version, texts: await readTexts(version, versions) }
}

/** What the proposal means, and whose approval that needs. Throws FileError for files that a server would refuse. */
export async function needsOfProposal(
  versions: PolicyVersions,
  base: ProposalBase,
  status: ProposalStatus,
  resources: Resources,
): Promise<NeedsOfProposal> {
  const { version, texts } = await wholeProposal(versions, base, status)
  const after = parseReading(readingOf(version, texts), resources)
  const needs = needsOf({ before: base.policy, after }, resources)
  const said = status.approvals.filter((one) => one.said.says === 'approved' && isInTime(one, status.proposal))
  const approved = [...new Set(said.map(({ by }) => by))]
  return { needs, unmet: unmetNeeds(needs, base.approvals, { author: version.user, approved }), after }
}

/** An approval from after the end of the proposal counts for nobody. */
export function isInTime({ said }: SignedBy<Approval>, proposal: SignedBy<PolicyProposal> | undefined): boolean {
  return Date.parse(said.time) <= Date.parse(proposal?.said.expires ?? '')
}

// ---- What people do with a proposal ---------------------------------------------------------------------------------

/** Who says it. Throws ToolError for one that is closed, and for an author who approves. */
export async function respond(
  versions: PolicyVersions,
  base: ProposalBase,
  { number, signed, state, why, proposal, approvals }: ProposalStatus,
  approval: Pick<Approval, 'says' | 'reason'>,
  signer: PersonSigner,
): Promise<string> {
  const person = refuseStranger(base.approvals, signer)
  if (state !== 'open' || !proposal)
    throw new ToolError(`proposal ${number} ${why ?? 'is published'}: nothing was done`)
  const isAuthor = person === proposal.by
  if (approval.says === 'approved' && isAuthor) {
    throw new ToolError(`\`${person}\` proposed it, and nobody approves a change of their own: ask somebody else`)
  }
  if (approval.says === 'withdrawn' && !isAuthor) {
    throw new ToolError(`only \`${proposal.by}\` may withdraw it: use \`sallyport policy reject ${number}\``)
  }
  if (approvals.some(({ by, said }) => by === person && said.says === approval.says)) return person
  const time = new Date(await timeToSign(versions, signer)).toISOString()
  const said = await signApproval({ of: digestOfText(signed), ...approval, time }, signer)
  const text = refuseUnsigned('approval', said, base.approvals)
  // A version holds the approvals of some twenty people.
  if (text.length > LONGEST_SIGNED / 40) throw new ToolError('the reason is too long: shorten it')
  if (await versions.addSignature(number, text)) return person
  throw new ToolError(`proposal ${number} has too many signatures: find out who writes to the database`)
}

/** The number of the new version. Throws ToolError while something is missing. */
export async function publishProposal(
  signed: SignedVersions,
  base: ProposalBase,
  status: ProposalStatus,
  resources: Resources,
): Promise<number> {
  const { number, state, why, proposal } = status
  if (state !== 'open') throw new ToolError(`proposal ${number} ${why ?? 'is published'}: nothing was done`)
  const { notBefore } = proposal?.said ?? {}
  if (notBefore !== undefined && Date.parse(notBefore) > (await signed.versions.now())) {
    throw new ToolError(
      `proposal ${number} may not be in force before ${notBefore}: once it has its approvals, instances publish it then`,
    )
  }
  // Asked before the versions, which only grow: an instance has no later one then.
  const loss = faultOfLoss(await signed.versions.instances(), await signed.versions.latest())
  if (loss !== undefined) throw new ToolError(loss)
  const found = await publishApproved(status, base, base.home, { ...signed, resources })
  if ('version' in found) return found.version
  if ('outrun' in found) throw new ToolError(OUTRUN)
  throw new ToolError(`proposal ${number} ${found.message}: ${found.hint}`)
}
