/**
 * Proposals and approvals: JWS (RFC 7515, compact, Ed25519), signed by people of the approvals.yaml in force. A proposal
 * names the version that it changes, so it can become the version after that one, and no other; an approval names the
 * proposal by its digest, so it counts for nothing else.
 */
import { isObject } from '../../base/is-object.ts'
import type { Approvals } from '../../decide/policy.ts'
import type { Revision } from '../policy-files.ts'
import { isTime, type PersonSigner, payloadOf, readSigned, type SignedBy, signAs } from './signed-by-person.ts'
import { digestOfText } from './signed-version.ts'

export interface PolicyProposal {
  /** Counts from 1. */
  readonly proposal: number
  /** The id of the database. */
  readonly database: string
  /** The version that it changes: its number, and the digest of its signed text. */
  readonly base: { readonly number: number; readonly digest: string }
  readonly title: string
  readonly ticket?: string | undefined
  /** Of all files. */
  readonly revision: Revision
  /** Of the files without blocked.txt. */
  readonly digest: string
  /** The digests of the files' texts, by file name. */
  readonly files: Readonly<Record<string, string>>
  /** RFC 3339, UTC; of this and the other times. */
  readonly time: string
  readonly notBefore?: string | undefined
  readonly expires: string
  /** See NEEDS_VERSION. */
  readonly needs: number
}

export interface Approval {
  /** The digest of the proposal's signed text. */
  readonly of: string
  readonly says: 'approved' | 'rejected' | 'withdrawn'
  readonly reason?: string | undefined
  readonly time: string
}

export function signProposal(proposal: PolicyProposal, signer: PersonSigner): Promise<string> {
  return signAs('proposal', proposal, signer)
}

export function signApproval(approval: Approval, signer: PersonSigner): Promise<string> {
  return signAs('approval', approval, signer)
}

/** Undefined unless a person has signed exactly this. */
export function readProposal(signed: string, approvals: Approvals): SignedBy<PolicyProposal> | undefined {
  const read = readSigned('proposal', signed, approvals)
  return read && isProposal(read.said) ? { ...read, said: read.said } : undefined
}

/** Undefined unless a person has signed exactly this, about the proposal. */
export function readApproval(
  signed: string,
  { proposal, approvals }: { readonly proposal: string; readonly approvals: Approvals },
): SignedBy<Approval> | undefined {
  const read = readSigned('approval', signed, approvals)
  if (!read || !isApproval(read.said) || read.said.of !== digestOfText(proposal)) return undefined
  return { ...read, said: read.said }
}

/** What the text claims, whoever signed it: for lists, and to find the keys that it must be verified with. */
export function claimedProposal(signed: string): PolicyProposal | undefined {
  const claimed = payloadOf(signed)
  return isProposal(claimed) ? claimed : undefined
}

function isProposal(value: unknown): value is PolicyProposal {
  if (!isObject(value) || !isObject(value.base) || !isObject(value.files)) return false
  const { base, files } = value
  const { ticket = '' } = value
  const texts = [
    value.database,
    base.digest,
    value.title,
    ticket,
    value.revision,
    value.digest,
    ...Object.values(files),
  ]
  const numbers = [value.proposal, base.number, value.needs]
  const times = [value.time, value.expires, ...(value.notBefore === undefined ? [] : [value.notBefore])]
  return texts.every((one) => typeof one === 'string') && numbers.every(Number.isSafeInteger) && times.every(isTime)
}

const SAYS = ['approved', 'rejected', 'withdrawn']

function isApproval(value: unknown): value is Approval {
  if (!isObject(value) || typeof value.of !== 'string' || !isTime(value.time)) return false
  const { says, reason = '' } = value
  return SAYS.some((one) => one === says) && typeof reason === 'string'
}

// ---- The signed text of a version that people have approved ---------------------------------------------------------

/** A version needs no other signature: any instance may store it once enough people have signed. */
export interface ApprovedVersion {
  readonly proposal: string
  readonly approvals: readonly string[]
  /** When it was stored, RFC 3339, by the database's clock. Nobody has signed it. */
  readonly time: string
}

export function approvedText(version: ApprovedVersion): string {
  return JSON.stringify({ proposal: version.proposal, approvals: version.approvals, time: version.time })
}

/** Undefined for a version that a key of POLICY_PUBLIC_KEYS signed alone. */
export function readApprovedText(signed: string): ApprovedVersion | undefined {
  if (!signed.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(signed)
    if (!isObject(value) || !Array.isArray(value.approvals)) return undefined
    const { proposal, approvals, time } = value
    const isWhole = typeof proposal === 'string' && approvals.every((one) => typeof one === 'string') && isTime(time)
    return isWhole ? { proposal, approvals, time: String(time) } : undefined
  } catch {
    return undefined
  }
}
