/**
 * Proposals and approvals: JWS (RFC 7515, compact, Ed25519), signed by people of the approvals.yaml in force. A proposal
 * names the version that it changes, so it can become the version after that one, and no other; an approval names the
 * proposal by its digest, so it counts for nothing else.
 */
import { createPublicKey, verify } from 'node:crypto'
import { isObject } from '../../base/is-object.ts'
import type { Approvals } from '../../decide/policy.ts'
import type { Revision } from '../policy-files.ts'
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

/** Signs bytes with an Ed25519 key, which may be in an agent. */
export interface PersonSigner {
  readonly kid: string
  sign(bytes: Uint8Array): Promise<Uint8Array>
}

export interface SignedBy<T> {
  /** The name of the person in approvals.yaml. */
  readonly by: string
  readonly kid: string
  readonly said: T
}

/** A key may sign other things as well: their signatures don't count here. */
const TYPES = { proposal: 'sallyport-proposal', approval: 'sallyport-approval' } as const

export function signProposal(proposal: PolicyProposal, signer: PersonSigner): Promise<string> {
  return sign('proposal', proposal, signer)
}

export function signApproval(approval: Approval, signer: PersonSigner): Promise<string> {
  return sign('approval', approval, signer)
}

async function sign(kind: keyof typeof TYPES, said: unknown, signer: PersonSigner): Promise<string> {
  const header = encoded({ alg: 'EdDSA', kid: signer.kid, typ: TYPES[kind] })
  const input = `${header}.${encoded(said)}`
  return `${input}.${Buffer.from(await signer.sign(Buffer.from(input))).toString('base64url')}`
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
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

/** The only form of a text with these parts: no second text may pass for the same signature. */
const COMPACT = /^(?<header>[\w-]+)\.(?<payload>[\w-]+)\.(?<signature>[\w-]{86})$/

function readSigned(kind: keyof typeof TYPES, signed: string, approvals: Approvals): SignedBy<unknown> | undefined {
  const { header = '', payload = '', signature = '' } = COMPACT.exec(signed)?.groups ?? {}
  // Some characters have bits that no byte needs: with other ones, the text stands for the same bytes.
  const isBent = (part: string) => Buffer.from(part, 'base64url').toString('base64url') !== part
  if ([header, payload, signature].some(isBent)) return undefined
  const named = parsed(header)
  if (!isObject(named) || named.typ !== TYPES[kind] || named.alg !== 'EdDSA') return undefined
  const owner = ownerOf(approvals, String(named.kid))
  if (!owner) return undefined
  const { by, key } = owner
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.x }, format: 'jwk' })
  const isTrue = verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, 'base64url'))
  return isTrue ? { by, kid: key.kid, said: parsed(payload) } : undefined
}

/** Whose key it is. */
export function ownerOf({ people }: Approvals, kid: string) {
  const [found] = [...people].flatMap(([by, { keys }]) => keys.flatMap((key) => (key.kid === kid ? { by, key } : [])))
  return found
}

/** What a signed text says, whoever signed it; undefined for another text. */
export function payloadOf(signed: string): unknown {
  return parsed(COMPACT.exec(signed)?.groups?.payload ?? '')
}

function parsed(part: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')))
  } catch {
    return undefined
  }
}

function isProposal(value: unknown): value is PolicyProposal {
  if (!isObject(value) || !isObject(value.base) || !isObject(value.files)) return false
  const { base, files } = value
  const texts = [value.database, base.digest, value.title, value.revision, value.digest, ...Object.values(files)]
  const numbers = [value.proposal, base.number, value.needs]
  const times = [value.time, value.expires, ...(value.notBefore === undefined ? [] : [value.notBefore])]
  return texts.every((one) => typeof one === 'string') && numbers.every(Number.isSafeInteger) && times.every(isTime)
}

const SAYS = ['approved', 'rejected', 'withdrawn']

function isApproval(value: unknown): value is Approval {
  return isObject(value) && typeof value.of === 'string' && SAYS.includes(String(value.says)) && isTime(value.time)
}

/** As commands write it. Other forms have another meaning in another time zone, so instances would disagree. */
function isTime(value: unknown): boolean {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString() === value
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
